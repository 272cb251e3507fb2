import BoundedWait
import Foundation
import Postline
import Synchronization
import TestSupport
import Testing
import WireProtocol

@Suite("Client guests")
@MainActor
struct ClientGuestTests {
    @Test(
        "an offline guest's birthday reaches the server and the account",
        .covers("E2", "E14"))
    func birthday() async throws {
        let date = CalendarDate(year: 1990, month: 2, day: 28)
        try await TestDatabase.with { database in
            let port = try await unusedPort()
            try await AppDevice.with(.node(port)) { device in
                try device.client.continueAsGuest()
                #expect(device.client.account == .localGuest)
                try await device.client.updateProfile { $0.dateOfBirth = date }
                #expect(device.client.me?.dateOfBirth == date)
                try await device.relaunch()
                #expect(device.client.account == .localGuest)
                #expect(device.client.me?.dateOfBirth == date)
                let node = try await ServeProcess.start(database, port: port)
                defer { node.command.signal(SIGKILL) }
                let shown = ClientObserver { device.client.me?.dateOfBirth }
                device.client.networkChanged()
                try await device.waitUntil("the guest") {
                    if case .guest = $0.account { $0.state == .live } else { false }
                }
                // It is shown all the time.
                #expect(shown.values == [date])
                let id = try #require(device.client.me?.id)
                #expect(device.client.me?.dateOfBirth == date)
                try await eventually("the server to have it") {
                    try await database.value("select date_of_birth from user_private where id = '\(id)'")
                        == date.description
                }
                // The guest becomes an account with the same id and data.
                try await device.client.upgrade(
                    email: "guest@new.example.com", password: "postline-dev", fullName: "Gus Guest")
                #expect(device.client.account == .user(id: id))
                try await device.waitUntil("the account") { $0.me?.email == "guest@new.example.com" }
                #expect(device.client.me?.dateOfBirth == date)
                #expect(device.client.me?.isGuest == false)
                try await device.relaunch()
                #expect(device.client.account == .user(id: id))
            }
        }
    }

    @Test(
        "signing in merges a guest's messages and birthday, and removes its file",
        .covers("E14"))
    func signsIn() async throws {
        try await withDevice { database, _, device in
            try device.client.continueAsGuest()
            try await device.waitUntil("the guest") {
                if case .guest = $0.account { $0.state == .live } else { false }
            }
            let guest = try #require(device.client.me?.id)
            let chat = try await device.client.openConversation(with: .frank)
            try await device.client.send("from the guest", in: chat)
            try await database.psql(
                "update user_profiles set bio = 'Her own.', location = null where id = '\(Person.alice.id)'")
            // The server is down, so this edit is not sent yet.
            try await device.client.updateProfile {
                $0.bio = "The guest's."
                $0.location = "Linz"
            }
            try await device.client.signIn(email: Person.alice.email, password: "postline-dev")
            try await device.waitUntilLive()
            #expect(device.client.account == .user(id: .alice))
            try await device.waitUntil("the guest's message") { client in
                client.conversations.contains { $0.lastMessageContent == "from the guest" }
            }
            try await device.waitUntil("the guest's location, and the account's own bio") {
                $0.me?.location == "Linz" && $0.me?.bio == "Her own."
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: device.folder.path)
            #expect(!files.contains { $0.hasPrefix(guest.rawValue) })
            #expect(!FileManager.default.fileExists(atPath: device.folder.path + "/secrets/\(guest).secret"))
        }
    }

    @Test("a guest's changes that wait are sent before the merge", arguments: [true, false])
    func signsInWithChanges(isServerDown: Bool) async throws {
        try await TestDatabase.with { database in
            let port = try await unusedPort()
            var node = try await ServeProcess.start(database, port: port)
            defer { node.command.signal(SIGKILL) }
            try await AppDevice.with(.node(port)) { device in
                try device.client.continueAsGuest()
                try await device.waitUntil("the guest") {
                    if case .guest = $0.account { $0.state == .live } else { false }
                }
                // Both have a conversation with Bob, and the guest's leaves the list.
                let id = try await device.client.openConversation(with: .bob)
                let chat = try await device.client.loadedChat(with: id)
                try await chat.send("sent")
                try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
                if isServerDown {
                    try await node.kill()
                    try await device.waitUntil("the lost connection") { $0.state != .live }
                } else {
                    await device.client.disconnect()
                }
                try await chat.send("waits")
                try await device.client.react(to: try #require(chat.messages.first), with: "👍", isSet: true)
                if isServerDown { node = try await ServeProcess.start(database, port: port) }
                try await device.signIn(.alice)
                let account = try await device.client.loadedChat(with: .aliceBob)
                try await device.waitUntil("both messages") { _ in
                    account.contents.suffix(2) == ["sent", "waits"]
                }
                #expect(account.messages.dropLast().last?.reactions.map(\.emoji) == ["👍"])
                #expect(device.client.refusedChanges.isEmpty && device.client.pendingChangeCount == 0)
            }
        }
    }

    @Test("other devices show a merged guest's messages as the account's")
    func sender() async throws {
        try await withDevice { _, node, device in
            try await device.signIn(.frank)
            try await device.waitUntilLive()
            let guest = try await TestClient.connect(port: node.port)
            let tokens = try await guest.becomeGuest("Gwen")
            let room = try await guest.conversation(with: Person.frank.id)
            try await guest.send("hello frank", to: room)
            let chat = try await device.client.loadedChat(with: Conversation.ID(room))
            try await device.waitUntil("the guest's message") { _ in
                chat.messages.last?.content == "hello frank"
            }
            try await TestClient.connect(port: node.port).logIn(Person.alice.email, guest: tokens)
            try await device.waitUntil("its new sender") { _ in chat.messages.last?.senderID == .alice
            }
        }
    }

    @Test("a local guest's edits fill only what the account lacks")
    func localGuestSignsIn() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                "update user_profiles set bio = 'Her own.', location = null where id = '\(Person.alice.id)'")
            let port = try await unusedPort()
            try await AppDevice.with(.node(port)) { device in
                try device.client.continueAsGuest()
                try await device.client.updateProfile {
                    $0.bio = "The guest's."
                    $0.location = "Linz"
                }
                await device.client.disconnect()
                let node = try await ServeProcess.start(database, port: port)
                defer { node.command.signal(SIGKILL) }
                try await device.signIn(.alice)
                try await device.waitUntil("the guest's location, and the account's own bio") {
                    $0.me?.location == "Linz" && $0.me?.bio == "Her own."
                }
                #expect(try await database.value("select count(*) from user_profiles where is_guest") == "0")
                // After signing out, a new guest can begin.
                try await device.client.signOut()
                try device.client.continueAsGuest()
                #expect(device.client.me?.location == nil)
            }
        }
    }

    @Test("a local guest does not connect in the background")
    func background() async throws {
        try await TestDatabase.with { database in
            let port = try await unusedPort()
            try await AppDevice.with(.node(port)) { device in
                try device.client.continueAsGuest()
                await device.client.enterBackground()
                let node = try await ServeProcess.start(database, port: port)
                defer { node.command.signal(SIGKILL) }
                device.client.networkChanged()
                // Another client connects and syncs meanwhile, so this one had the time to connect.
                try await AppDevice.with(.node(port)) { other in try await other.signIn(.bob) }
                #expect(device.client.account == .localGuest)
                #expect(try await database.value("select count(*) from user_profiles where is_guest") == "0")
                await device.client.enterForeground()
                try await device.waitUntil("the guest") {
                    if case .guest = $0.account { $0.state == .live } else { false }
                }
            }
        }
    }

    @Test("after a lost upgrade response, signing in recovers the account")
    func lostUpgrade() async throws {
        try await withDevice { _, node, device in
            try device.client.continueAsGuest()
            try await device.waitUntil("the guest") {
                if case .guest = $0.account { $0.state == .live } else { false }
            }
            let id = try #require(device.client.me?.id)
            await device.client.disconnect()
            try await device.client.updateProfile { $0.bio = "Of the guest." }
            // The server executes the upgrade, and the response is lost.
            let file = device.folder.appending(path: "secrets/\(id).secret")
            let lost = try await node.connect()
            try await lost.authenticate(try JSON(parsing: String(contentsOf: file, encoding: .utf8)))
            try await lost.call(
                "auth.upgrade", ["email": "lost@new.example.com", "password": "postline-dev"])
            try await device.client.signIn(email: "lost@new.example.com", password: "postline-dev")
            #expect(device.client.account == .user(id: id))
            try await device.waitUntil("the account's data") {
                $0.me?.bio == "Of the guest." && $0.pendingChangeCount == 0
            }
            try await device.relaunch()
            try await device.waitUntilLive()
            #expect(device.client.account == .user(id: id))
        }
    }

    @Test("a sign-in without a usable store finishes at the next launch")
    func storeFails() async throws {
        try await withDevice { _, _, device in
            try device.client.continueAsGuest()
            try await device.waitUntil("the guest") {
                if case .guest = $0.account { $0.state == .live } else { false }
            }
            let account = device.client.account
            // An error before the server knows of the sign-in leaves the guest signed in.
            await #expect(throws: PostlineError.self) {
                try await device.client.signIn(email: Person.alice.email, password: "wrong")
            }
            #expect(device.client.account == account)
            let chat = try await device.client.openConversation(with: .frank)
            await device.client.disconnect()
            try await device.client.send("written before", in: chat)
            let place = device.folder.appending(path: "\(Person.alice.id).sqlite")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            await #expect {
                try await device.client.signIn(email: Person.alice.email, password: "postline-dev")
            } throws: { error in
                (error as? PostlineError)?.code == .storeUnusable
            }
            guard case .signedOut(let error?) = device.client.state else {
                Issue.record("\(device.client.state)")
                return
            }
            #expect(error.code == .storeUnusable)
            try FileManager.default.removeItem(at: place)
            try device.client.connect()
            try await device.waitUntilLive()
            #expect(device.client.account == .user(id: .alice))
            try await device.waitUntil("the guest's message") { client in
                client.pendingChangeCount == 0
                    && client.conversations.contains { $0.lastMessageContent == "written before" }
            }
            #expect(device.client.refusedChanges.isEmpty)
        }
    }

    @Test(
        "legacy data is migrated once and then erased",
        .covers("D28", "E12"))
    func legacyData() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                "update user_profiles set bio = 'Her own.', location = null where id = '\(Person.alice.id)'")
            try await ServeProcess.with(database) { node in
                let legacy = Legacy()
                try await AppDevice.with(.node(node.port), legacyData: legacy) { device in
                    // The first attempt cannot read the data, which does not prevent the sign-in.
                    try await device.signIn(.alice)
                    #expect(legacy.migrations == 1 && legacy.erasures == 0)
                    try await device.relaunch()
                    try await device.waitUntil("the stored data") { $0.me?.preferences["units_seen"] == true }
                    #expect(device.client.me?.location == "Linz")
                    // The account's own value stays.
                    #expect(device.client.me?.bio == "Her own.")
                    #expect(legacy.migrations == 2)
                    #expect(legacy.erasures == 1)
                    try await eventually("the server to have it") {
                        try await database.value(
                            "select preferences->>'units_seen' from user_private where id = '\(Person.alice.id)'")
                            == "true"
                    }
                    try await device.relaunch()
                    try await device.waitUntilLive()
                    // The user's later edit stays.
                    #expect(legacy.migrations == 2)
                    #expect(legacy.erasures == 1)
                }
            }
        }
    }

    /// An old key of an earlier version.
    private final class Legacy: LegacyData {
        private let counts = Mutex((migrations: 0, erasures: 0))

        var migrations: Int { counts.withLock(\.migrations) }
        var erasures: Int { counts.withLock(\.erasures) }

        func migrate(into edit: inout ProfileEdit) throws -> Bool {
            let isFirst = counts.withLock { counts in
                counts.migrations += 1
                return counts.migrations == 1
            }
            if isFirst { throw CocoaError(.fileReadNoPermission) }
            edit.preferences["units_seen"] = true
            (edit.bio, edit.location) = ("Of the old app.", "Linz")
            return true
        }

        func erase() { counts.withLock { $0.erasures += 1 } }
    }
}
