import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Client sessions")
@MainActor
struct ClientSessionTests {
    @Test(
        "the next launch shows the user's data without a server",
        .covers("B8", "B34", "C36", "E11"))
    func restored() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database)
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                let (me, conversations) = (device.client.me, device.client.conversations)
                let messages = try await device.client.loadedChat(with: .aliceBob).messages
                try await node.kill()
                try await device.relaunch()
                // Synchronously, without waiting.
                #expect(device.client.account == .user(id: .alice))
                #expect(device.client.me == me)
                #expect(device.client.conversations == conversations)
                #expect(try await device.client.loadedChat(with: .aliceBob).messages == messages)
            }
        }
    }

    @Test(
        "signing out hides all data, and the next user sees only its own",
        .covers("B35", "E4"))
    func otherUser() async throws {
        try await withDevice { _, _, device in
            let client = device.client
            try await device.signIn(.alice)
            let chat = try await client.loadedChat(with: .aliceCarol)
            try await chat.setDraft("Alice's secret draft")
            #expect(!chat.messages.isEmpty)
            // Each part of an app observes separately.
            let root = ClientObserver { client.account }
            let profile = ClientObserver { client.me?.username }
            try await client.signOut()
            let (hers, his) = (PostlineClient.Account.user(id: .alice), User.ID.bob)
            try await device.waitUntil("the sign-out to both parts") { _ in
                root.values == [hers, .signedOut] && profile.values == ["alice", nil]
            }
            #expect(client.account == .signedOut)
            #expect(client.state == .signedOut(nil))
            #expect(client.me == nil && client.conversations.isEmpty && client.refusedChanges.isEmpty)
            #expect(chat.messages.isEmpty && chat.conversation == nil)
            await #expect {
                try await client.send("nobody", in: .aliceCarol)
            } throws: { error in
                (error as? PostlineError)?.code == .signedOut
            }
            // Bob is not a member of Alice's and Carol's conversation.
            try await device.signIn(.bob)
            #expect(client.me?.username == "bob")
            try await device.waitUntil("the sign-in to both parts") { _ in
                root.values == [hers, .signedOut, .signingIn(guest: nil), .user(id: his)]
                    && profile.values == ["alice", nil, "bob"]
            }
            #expect(!client.conversations.contains { $0.id == .aliceCarol })
            #expect(try await client.loadedChat(with: .aliceCarol).messages.isEmpty)
            #expect(client.conversations.allSatisfy { $0.draft == nil })
            try await client.signOut(erasing: true)
            // The first user's data is shown again.
            try await device.signIn(.alice)
            #expect(client.chat(with: .aliceCarol).draft == "Alice's secret draft")
            let files = try FileManager.default.contentsOfDirectory(atPath: device.folder.path)
            #expect(files.contains("\(Person.alice.id).sqlite"))
            #expect(!files.contains { $0.hasPrefix(Person.bob.id) })
        }
    }

    @Test(
        "device data stays with its user through profile changes",
        .covers("D17"))
    func deviceData() async throws {
        try await withDevice { database, _, device in
            try device.client.continueAsGuest()
            try await device.client.setDeviceData("synced_once", to: true)
            try await device.signIn(.alice)
            try await device.client.setDeviceData("last_synced", to: ["day": "2026-11-20", "steps": 9_000])
            try await database.psql(
                "update user_profiles set full_name = 'Renamed' where id = '\(Person.alice.id)'")
            try await device.waitUntil("the change") { $0.me?.fullName == "Renamed" }
            try await device.relaunch()
            let kept: [String: JSONValue] = [
                "synced_once": true, "last_synced": ["day": "2026-11-20", "steps": 9_000],
            ]
            #expect(device.client.deviceData == kept)
            #expect(device.client.me?.fullName == "Renamed")
            try await device.client.signOut()
            #expect(device.client.deviceData.isEmpty)
            try await device.signIn(.bob)
            #expect(device.client.deviceData.isEmpty)
            try await device.client.signOut()
            try await device.signIn(.alice)
            #expect(device.client.deviceData == kept)
            try await device.client.setDeviceData("synced_once", to: nil)
            #expect(device.client.deviceData.keys.sorted() == ["last_synced"])
            // The value is neither in the outbox nor at the server.
            #expect(device.client.pendingChangeCount == 0)
            #expect(
                try await database.value(
                    "select preferences ? 'last_synced' from user_private where id = '\(Person.alice.id)'")
                    == "f")
        }
    }

    @Test("tokens are in a private file, not in the store", .covers("B8"))
    func secrets() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            let secrets = device.folder.appending(path: "secrets")
            let file = secrets.appending(path: "\(Person.alice.id).secret")
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions]
            #expect((mode as? NSNumber)?.intValue == 0o600)
            let tokens = try #require(
                try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
            let refresh = try #require(tokens["refresh_token"] as? String)
            await device.client.disconnect()
            for name in try FileManager.default.contentsOfDirectory(atPath: device.folder.path)
            where name.contains(".sqlite") {
                let bytes = try Data(contentsOf: device.folder.appending(path: name))
                #expect(bytes.range(of: Data(refresh.utf8)) == nil, "\(name)")
            }
            try await device.relaunch()
            try await device.client.signOut()
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }

    @Test("refuses a wrong password, and a second sign-in")
    func refused() async throws {
        try await withDevice { _, _, device in
            await #expect {
                try await device.client.signIn(email: Person.alice.email, password: "wrong")
            } throws: { error in
                (error as? PostlineError)?.code == .invalidCredentials
            }
            #expect(device.client.account == .signedOut)
            try await device.signIn(.alice)
            await #expect(throws: PostlineError.self) {
                try await device.client.signIn(email: Person.bob.email, password: "postline-dev")
            }
            #expect(device.client.me?.username == "alice")
        }
    }

    @Test("refuses one of two concurrent sign-ins, and leaves no connection")
    func atOnce() async throws {
        try await withDevice { _, node, device in
            let client = device.client
            try client.continueAsGuest()
            try await device.waitUntil("the guest") {
                if case .guest = $0.account { $0.state == .live } else { false }
            }
            let attempts = (0..<2).map { _ in
                Task { try await client.signIn(email: Person.alice.email, password: "postline-dev") }
            }
            // Neither call may start anything during the sign-in.
            try client.connect()
            try client.continueAsGuest()
            var refused = 0
            for attempt in attempts { if case .failure = await attempt.result { refused += 1 } }
            #expect(refused == 1)
            try await device.waitUntilLive()
            #expect(client.account == .user(id: .alice))
            await client.disconnect()
            try await eventually("the node to have no connection") {
                try await node.metrics()["postline_connections"] ?? 0 == 0
            }
            try await dropped(device)
            try await eventually("the node to have no connection") {
                try await node.metrics()["postline_connections"] ?? 0 == 0
            }
        }
    }

    @Test("the last of concurrent calls to connect and sign out wins")
    func lastWord() async throws {
        try await withDevice { _, node, device in
            let client = device.client
            try await device.signIn(.alice)
            let disconnecting = Task { await client.disconnect() }
            await Task.yield()
            try client.connect()
            await disconnecting.value
            try await device.waitUntilLive()
            let signingOut = Task { try await client.signOut() }
            await Task.yield()
            try client.connect()
            try client.continueAsGuest()
            await #expect {
                try await client.signInAsGuest()
            } throws: { error in
                (error as? PostlineError)?.code == .invalidRequest
            }
            try await signingOut.value
            #expect(client.account == .signedOut && client.state == .signedOut(nil))
            try await eventually("the node to have no connection") {
                try await node.metrics()["postline_connections"] ?? 0 == 0
            }
            try await device.relaunch()
            #expect(device.client.account == .signedOut)
        }
    }

    @Test("refuses a sign-in that would lose a guest's data")
    func guestStays() async throws {
        try await withDevice { _, _, device in
            let client = device.client
            try await client.signInAsGuest(fullName: "Gus")
            try await device.waitUntilLive()
            let guest = client.account
            for attempt in [
                { try await client.signInAsGuest() }, { try await client.signIn(accessToken: "any") },
            ] as [@MainActor () async throws -> Void] {
                await #expect {
                    try await attempt()
                } throws: { error in
                    (error as? PostlineError)?.code == .invalidRequest
                }
                #expect(client.account == guest && client.state == .live)
            }
        }
    }

    @Test("a lost deletion response is confirmed by the session's end")
    func lostDeletion() async throws {
        try await withDevice { database, _, device in
            func files() throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: device.folder.path)
                    .filter { $0.hasPrefix(Person.alice.id) }
            }
            /// Simulates a lost response to `me.delete`.
            func loseAnswer() async throws {
                await device.client.disconnect()
                let store = try Store(folder: device.folder, userID: .alice)
                try store.writeNow { try $0.setDeletionPending(true) }
                try store.close(erasing: false)
            }
            try await device.signIn(.alice)
            await #expect(throws: PostlineError.self) {
                try await device.client.deleteAccount(password: "wrong")
            }
            try await loseAnswer()
            // The deletion was not executed, so the account stays.
            try await device.relaunch()
            try await device.waitUntilLive()
            try await database.psql("update app.sessions set revoked_at = now() where revoked_at is null")
            try await device.waitUntil("the sign-out") { $0.account == .signedOut }
            #expect(try !files().isEmpty)
            try await device.signIn(.alice)
            try await loseAnswer()
            try Data("torn".utf8).write(to: device.folder.appending(path: "\(Person.alice.id).sqlite.damaged"))
            try await database.psql("update app.sessions set revoked_at = now() where revoked_at is null")
            try await device.relaunch()
            try await device.waitUntil("the sign-out") { $0.account == .signedOut }
            #expect(try files().isEmpty)
        }
    }

    @Test("two processes renew one session in turn")
    func twoProcesses() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let folder = FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: folder) }
                let secrets = FileSecretStore(folder: folder)
                let connection = try await LineConnection.connect(to: .node(node.port), by: PosixConnector())
                defer { connection.close() }
                let tokens: Tokens = try await connection.call("auth.guest", [String: String]())
                try TokenKeeper.store(tokens, in: secrets)
                let keepers = (0..<2).map { _ in TokenKeeper(tokens: tokens, secrets: secrets) }
                for keeper in keepers + keepers { _ = try await keeper.renew(connection) }
                let renewed = await keepers[1].tokens
                #expect(try TokenKeeper.load(tokens.userID, from: secrets) == renewed)
                await keepers[1].retire()
                try secrets.erase(named: tokens.userID.rawValue)
                try await keepers[1].update(renewed)
                #expect(try TokenKeeper.load(tokens.userID, from: secrets) == nil)
            }
        }
    }

    /// Creates a client on another folder, and releases it once it is live.
    private func dropped(_ device: AppDevice) async throws {
        let folder = device.folder.appending(path: "another")
        let client = try PostlineClient(server: device.server, store: .file(in: folder), logger: .quiet)
        try await client.signIn(email: Person.bob.email, password: "postline-dev")
        try await eventually("the live state") { client.state == .live }
    }

    @Test("a revoked session signs out with its reason and keeps the data")
    func revoked() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            try await database.psql("update app.sessions set revoked_at = now() where revoked_at is null")
            try await device.waitUntil("the sign-out") { client in
                if case .signedOut(let error?) = client.state { error.code == .sessionRevoked } else { false }
            }
            #expect(device.client.me == nil && device.client.account == .signedOut)
            try await device.signIn(.alice)
            #expect(device.client.conversations.contains { $0.id == .aliceBob })
        }
    }

    @Test("renews an expired access token, live and after a launch")
    func renewed() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--access-token-seconds", "2"]) { node in
                try await AppDevice.with(.node(node.port)) { device in
                    try await device.signIn(.alice)
                    for number in 0..<3 {
                        let chat = try await device.client.loadedChat(with: .aliceBob)
                        try await chat.send("number \(number)")
                        try await device.waitUntil("the sent message") { _ in chat.messages.last?.delivery == .sent }
                        // A changed generation shows that the live client renewed the token.
                        let before = try await database.value("select sum(generation) from app.sessions")
                        try await eventually("the token to be renewed") {
                            try await database.value("select sum(generation) from app.sessions") != before
                        }
                        try await device.relaunch()
                        try await device.waitUntilLive()
                    }
                    #expect(device.client.account == .user(id: .alice))
                }
            }
        }
    }

    @Test("does not connect after disconnect or in the background")
    func disconnected() async throws {
        try await withDevice { database, node, device in
            try await device.signIn(.alice)
            await device.client.disconnect()
            device.client.networkChanged()
            await device.client.enterForeground()
            try await database.psql(
                "update user_profiles set full_name = 'Renamed' where id = '\(Person.alice.id)'")
            guard case .offline = device.client.state else {
                Issue.record("it is \(device.client.state)")
                return
            }
            #expect(try await node.metrics()["postline_connections"] ?? 0 == 0)
            try device.client.connect()
            try await device.waitUntil("the change") { $0.me?.fullName == "Renamed" && $0.state == .live }
            await device.client.enterBackground()
            try await device.waitUntil("the offline state") {
                if case .offline = $0.state { true } else { false }
            }
            await device.client.enterForeground()
            try await device.waitUntilLive()
        }
    }
}
