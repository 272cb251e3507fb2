import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

/// An app and its extension, two processes with one store.
@Suite("Shared store", .timeLimit(.minutes(20)))
@MainActor
struct ClientSharedStoreTests {
    /// Runs a body with an app and a second process, and ends them.
    ///
    /// - Parameter second: The mode of the second process. The app is signed in as Alice before it starts.
    private func withProcesses(
        _ second: ClientProcess.Mode = .shared, arguments: [String] = [],
        _ body: @MainActor (TestDatabase, ServeProcess, inout ClientProcess, inout ClientProcess) async throws -> Void
    ) async throws {
        try await TestDatabase.with { @MainActor database in
            let node = try await ServeProcess.start(database, arguments)
            defer { node.command.signal(SIGKILL) }
            var app = try ClientProcess(.swift, linePort: node.port, httpPort: 0, mode: .shared)
            defer { app.end() }
            try await app.request("signIn", ["email": .string(Person.alice.email), "password": "postline-dev"])
            try await waitForState(of: &app, ["account": "user", "live": true])
            var other = try ClientProcess(
                .swift, folder: app.folder, linePort: node.port, httpPort: 0, mode: second)
            defer { other.end() }
            try await body(database, node, &app, &other)
        }
    }

    private func waitForState(of process: inout ClientProcess, _ state: JSONValue) async throws {
        var shown = JSONValue.null
        do {
            try await eventually("a process to show \(state.json)") {
                do {
                    shown = try await process.request("state")
                } catch let failure as ClientProcess.Failure where ["offline", "signed_out"].contains(failure.code) {
                    return false
                }
                return shown.contains(state)
            }
        } catch let error as TimeoutError {
            throw TimeoutError(description: "\(error.description), not \(shown.json.prefix(2_000))\n\(process.errors)")
        }
    }

    private func send(_ text: String, by process: inout ClientProcess) async throws {
        try await process.request("send", ["conversation": .string(Room.aliceBob), "text": .string(text)])
    }

    private func count(_ text: String, in database: TestDatabase) async throws -> Int {
        try await database.value("select count(*) from messages where content like '\(text)'").flatMap { Int($0) } ?? -1
    }

    @Test("two processes send, and the server stores each message once")
    func sends() async throws {
        try await withProcesses { database, _, app, other in
            for number in 0..<20 {
                try await send("app \(number)", by: &app)
                try await send("other \(number)", by: &other)
            }
            try await app.waitUntilEqual(to: database)
            try await other.waitUntilEqual(to: database)
            #expect(try await count("app %", in: database) == 20)
            #expect(try await count("other %", in: database) == 20)
        }
    }

    @Test("another process takes over from a killed one")
    func killed() async throws {
        try await withProcesses { database, _, app, other in
            try await waitForState(of: &other, ["live": true])
            for round in 0..<3 {
                // The killed process may have begun to send its last message.
                try app.send("send", ["conversation": .string(Room.aliceBob), "text": .string("last \(round)")])
                try await app.kill()
                try await send("next \(round)", by: &other)
                try await other.waitUntilEqual(to: database)
                #expect(try await count("next \(round)", in: database) == 1)
                #expect(try await count("last \(round)", in: database) <= 1)
                try app.relaunch()
                try await app.waitUntilEqual(to: database)
                swap(&app, &other)
            }
        }
    }

    @Test("a process without the connection loads older pages, refreshes and calls the server")
    func calls() async throws {
        try await withProcesses { database, _, app, other in
            // Its `state` is the first that loads older pages.
            try await other.waitUntilEqual(to: database)
            let room = try await app.request("createGroup", ["title": "Alps", "users": [.string(Person.bob.id)]])
            let second = try await other.request("createGroup", ["title": "Sea", "users": [.string(Person.bob.id)]])
            #expect(room != second)
            try await app.waitUntilEqual(to: database)
            try await other.waitUntilEqual(to: database)
        }
    }

    @Test("an extension handles a push and sends beside a live app, which reports each message once")
    func push() async throws {
        try await withProcesses(.extension) { database, node, app, other in
            try await waitForState(of: &other, ["account": "user"])
            let bob = try await node.signedIn(.bob)
            for number in 0..<3 {
                try await bob.send("push \(number)", to: Room.aliceBob)
                let seq = try await database.value(
                    "select max(seq) from messages where conversation_id = '\(Room.aliceBob)'")
                let result = try await other.request(
                    "handle", ["conversation": .string(Room.aliceBob), "seq": .integer(seq.flatMap { Int($0) } ?? 0)])
                #expect(result == ["is_new": true])
            }
            try await send("from the extension", by: &other)
            #expect(try await other.request("sync") == ["is_done": true])
            #expect(try await count("from the extension", in: database) == 1)
            try await app.waitUntilEqual(to: database)
            let contents: JSONValue = ["contents": ["push 0", "push 1", "push 2"]]
            #expect(try await app.request("received") == contents)
            try await eventually("the extension's events") { try await other.request("received") == contents }
        }
    }

    @Test("an extension syncs while the app is in the background, whose events follow in the foreground")
    func background() async throws {
        try await withProcesses(.extension) { database, node, app, other in
            try await waitForState(of: &other, ["account": "user"])
            try await app.request("enterBackground")
            let bob = try await node.signedIn(.bob)
            try await bob.send("unseen", to: Room.aliceBob)
            try await send("from the extension", by: &other)
            #expect(try await other.request("sync") == ["is_done": true])
            #expect(try await count("from the extension", in: database) == 1)
            #expect(try await other.request("received") == ["contents": ["unseen"]])
            try await app.request("enterForeground")
            try await app.waitUntilEqual(to: database)
            #expect(try await app.request("received") == ["contents": ["unseen"]])
        }
    }

    @Test("in the background no lock is held, with which the system would end the process")
    func released() async throws {
        try await TestDatabase.with { @MainActor database in
            try await ServeProcess.with(database) { @MainActor node in
                let folder = FileManager.default.temporaryDirectory.appending(path: "shared-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: folder) }
                let client = try PostlineClient(
                    server: .node(node.port), store: .shared(in: folder), logger: .quiet)
                try await client.signIn(email: Person.alice.email, password: "postline-dev")
                try await eventually("the live state") { client.state == .live }
                let lock = try #require(FolderLocks(sharedFolder: folder).makeConnectionLock())
                for _ in 0..<3 {
                    #expect(!lock.tryLock() && lock.isMarked)
                    await client.enterBackground()
                    #expect(lock.tryLock())
                    lock.unlock()
                    #expect(await client.sync())
                    #expect(lock.tryLock())
                    lock.unlock()
                    await client.enterForeground()
                    try await eventually("the live state") { client.state == .live }
                }
                await client.disconnect()
                #expect(lock.tryLock())
            }
        }
    }

    @Test("two processes continue as the same local guest, whose edits are saved once and merged into an account")
    func guests() async throws {
        try await TestDatabase.with { @MainActor database in
            let port = try await unusedPort()
            var app = try ClientProcess(.swift, linePort: port, httpPort: 0, mode: .shared)
            defer { app.end() }
            var other = try ClientProcess(.swift, folder: app.folder, linePort: port, httpPort: 0, mode: .shared)
            defer { other.end() }
            try app.send("continueAsGuest")
            try other.send("continueAsGuest")
            try await app.request("updateProfile", ["fields": ["bio": "by the app"]])
            try await other.request("updateProfile", ["fields": ["location": "by the other"]])
            let users = try await database.value("select count(*) from user_profiles")
            let node = try await ServeProcess.start(database, port: port)
            defer { node.command.signal(SIGKILL) }
            for _ in 0..<2 {
                try await app.request("networkChanged")
                try await waitForState(of: &app, ["account": "guest", "live": true, "pending": 0])
                swap(&app, &other)
            }
            #expect(
                try await database.value("select count(*) from user_profiles")
                    == users.flatMap { Int($0) }.map { "\($0 + 1)" })
            let guest = "select count(*) from user_profiles where bio = 'by the app' and location = 'by the other'"
            #expect(try await database.value(guest) == "1")
            // The other process writes while the app signs in.
            try app.send("signIn", ["email": .string(Person.alice.email), "password": "postline-dev"])
            for number in 0..<20 {
                do {
                    try await other.request("updateProfile", ["fields": ["bio": .string("\(number)")]])
                } catch let failure as ClientProcess.Failure where failure.code == "signed_out" {
                    // The guest's file was closed meanwhile, so that nothing was written.
                }
            }
            for _ in 0..<2 {
                try await waitForState(
                    of: &app, ["account": "user", "pending": 0, "me": ["id": .string(Person.alice.id)]])
                swap(&app, &other)
            }
            try await app.waitUntilEqual(to: database)
            try await other.waitUntilEqual(to: database)
        }
    }

    @Test("a sign-out or a sign-in of one process is that of the other")
    func signOut() async throws {
        try await withProcesses { database, _, app, other in
            try await waitForState(of: &other, ["account": "user", "live": true])
            for person in [Person.bob, .alice, .bob] {
                try await app.request("signOut")
                try await waitForState(of: &other, ["account": "signedOut", "me": nil])
                try await other.request("signIn", ["email": .string(person.email), "password": "postline-dev"])
                try await waitForState(of: &app, ["account": "user", "live": true, "me": ["id": .string(person.id)]])
                try await send("as \(person.id)", by: &app)
                try await app.waitUntilEqual(to: database)
                try await other.waitUntilEqual(to: database)
                swap(&app, &other)
            }
        }
    }

    @Test("two processes renew the tokens by turns, and the session goes on")
    func tokens() async throws {
        try await withProcesses(arguments: ["--access-token-seconds", "3"]) { database, _, app, other in
            try await eventually("some renewals") {
                for _ in 0..<2 {
                    do {
                        try await app.request("accessToken")
                    } catch let failure as ClientProcess.Failure where failure.code == "offline" {
                        // On a busy machine the server ends a connection before its renewal.
                    }
                    swap(&app, &other)
                }
                let count = try await database.value("select max(generation) from app.sessions")
                return count.flatMap { Int($0) } ?? 0 > 4
            }
            #expect(try await database.value("select count(*) from app.sessions") == "1")
            try await app.waitUntilEqual(to: database)
            try await other.waitUntilEqual(to: database)
        }
    }

    @Test("a damaged file is replaced once, also while both processes use it", arguments: [true, false])
    func damaged(_ isRunning: Bool) async throws {
        try await withProcesses { database, _, app, other in
            try await waitForState(of: &other, ["live": true])
            if !isRunning {
                try await app.kill()
                try await other.kill()
            }
            let file = URL(fileURLWithPath: app.folder).appending(path: "\(Person.alice.id).sqlite")
            let noise = Data((0..<100_000).map { _ in UInt8.random(in: 0...255) })
            for suffix in ["", "-wal"] {
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file.path + suffix))
                try handle.write(contentsOf: noise)
                try handle.close()
            }
            if !isRunning {
                try app.relaunch()
                try other.relaunch()
            }
            for _ in 0..<2 {
                try await eventually("a file that can be written") {
                    do {
                        try await send("after the damage", by: &app)
                        return true
                    } catch let failure as ClientProcess.Failure where failure.code == "store_unusable" {
                        return false
                    }
                }
                swap(&app, &other)
            }
            try await app.waitUntilEqual(to: database)
            try await other.waitUntilEqual(to: database)
            #expect(FileManager.default.fileExists(atPath: file.path + ".damaged"))
        }
    }

    @Test("processes that open a new store at the same time all use it")
    func opened() async throws {
        try await withProcesses { database, _, app, other in
            for _ in 0..<5 {
                try await app.kill()
                try await other.kill()
                for suffix in ["", "-wal", "-shm"] {
                    try? FileManager.default.removeItem(atPath: "\(app.folder)/\(Person.alice.id).sqlite\(suffix)")
                }
                try app.relaunch()
                try other.relaunch()
                try await app.waitUntilEqual(to: database)
                try await other.waitUntilEqual(to: database)
            }
        }
    }
}
