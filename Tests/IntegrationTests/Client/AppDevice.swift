import BoundedWait
import Foundation
import Logging
import Postgres
import Postline

/// A device with the app: a folder that outlives the app's process, which is a client here.
@MainActor
final class AppDevice {
    let folder: URL
    let server: Server
    private(set) var client: PostlineClient
    private let make: @MainActor (_ isInBackground: Bool) throws -> PostlineClient

    /// Runs a body with a device, and deletes its folder at the end.
    static func with<Value: Sendable>(
        _ server: Server, legacyData: (any LegacyData)? = nil, secrets: (any SecretStore)? = nil,
        fileLimits: FileLimits = FileLimits(), _ body: @MainActor (AppDevice) async throws -> Value
    ) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-device-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let device = try AppDevice(server, folder, legacyData, secrets, fileLimits)
        do {
            let value = try await body(device)
            await device.client.disconnect()
            return value
        } catch {
            await device.client.disconnect()
            throw error
        }
    }

    private init(
        _ server: Server, _ folder: URL, _ legacyData: (any LegacyData)?, _ secrets: (any SecretStore)?,
        _ fileLimits: FileLimits
    ) throws {
        self.folder = folder
        self.server = server
        make = { isInBackground in
            try PostlineClient(
                server: server, store: .file(in: folder), secrets: secrets, legacyData: legacyData,
                isInBackground: isInBackground, fileLimits: fileLimits, logger: .quiet)
        }
        client = try make(false)
    }

    /// Ends the app and launches it again, optionally in the background, as the system does for a push.
    func relaunch(inBackground isInBackground: Bool = false) async throws {
        await client.disconnect()
        client = try make(isInBackground)
    }

    /// Signs in. Repeats what an app would repeat: on a busy machine, a connection may end by its timeout.
    func signIn(_ person: Person) async throws {
        try await eventually("the sign-in") {
            do {
                try await client.signIn(email: person.email, password: "postline-dev")
                return true
            } catch let error as PostlineError where error.isRetryable {
                return false
            }
        }
        try await waitUntilLive()
    }

    func waitUntilLive() async throws { try await waitUntil("the live state") { $0.state == .live } }

    /// Waits until the client satisfies a condition.
    func waitUntil(_ what: String, _ condition: @MainActor (PostlineClient) -> Bool) async throws {
        try await eventually(what) { condition(client) }
    }
}

extension Server {
    /// Returns a node on this machine.
    static func node(_ port: Int) -> Server { .line("127.0.0.1", port: port, isEncrypted: false) }
}

extension PostlineClient {
    /// Returns a chat whose stored messages are shown.
    func loadedChat(with id: Conversation.ID) async throws -> Chat {
        let chat = chat(with: id)
        try await chat.load()
        return chat
    }
}

extension Chat {
    /// The messages' contents in order.
    var contents: [String?] { messages.map(\.content) }
}

extension Delivery {
    /// True if the change is in the outbox.
    var isQueued: Bool { if case .queued = self { true } else { false } }
}

extension Identifier where Object == User {
    static let alice = Self(rawValue: Person.alice.id)
    static let bob = Self(rawValue: Person.bob.id)
    static let carol = Self(rawValue: Person.carol.id)
    static let frank = Self(rawValue: Person.frank.id)
}

extension Identifier where Object == Conversation {
    static let alps = Self(rawValue: Room.alps)
    static let aliceBob = Self(rawValue: Room.aliceBob)
    static let aliceCarol = Self(rawValue: Room.aliceCarol)
    static let bobDave = Self(rawValue: Room.bobDave)
}

/// Runs a body with a server process, its database, and a device on which no user is signed in.
@MainActor
func withDevice(
    _ body: @MainActor (TestDatabase, ServeProcess, AppDevice) async throws -> Void
) async throws {
    try await TestDatabase.with { database in
        try await ServeProcess.with(database) { node in
            try await AppDevice.with(.node(node.port)) { device in try await body(database, node, device) }
        }
    }
}

/// Runs a body with a server process, its database, and a device each of Alice and Bob.
@MainActor
func withAliceAndBob(
    _ body: @MainActor (TestDatabase, _ alice: AppDevice, _ bob: AppDevice) async throws -> Void
) async throws {
    try await withDevice { database, _, alice in
        try await AppDevice.with(alice.server) { bob in
            try await alice.signIn(.alice)
            try await bob.signIn(.bob)
            try await body(database, alice, bob)
        }
    }
}

/// Runs a body with a node that stores files, and Alice's device.
@MainActor
func withPictureDevice(
    _ limits: FileLimits = FileLimits(), _ body: @MainActor (TestNode, AppDevice) async throws -> Void
) async throws {
    try await withPictures { node, _ in
        try await AppDevice.with(.node(node.port), fileLimits: limits) { device in
            try await device.signIn(.alice)
            try await body(node, device)
        }
    }
}
