import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Client refresh")
@MainActor
struct ClientRefreshTests {
    @Test("a refresh returns with all changes shown")
    func live() async throws {
        try await withDevice { _, node, device in
            try await device.signIn(.alice)
            let bob = try await node.signedIn(.bob)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            for number in 0..<10 {
                try await bob.send("number \(number)", to: Room.aliceBob)
                try await device.client.refresh()
                #expect(chat.messages.last?.content == "number \(number)")
            }
            // Pushes continue.
            try await bob.send("pushed", to: Room.aliceBob)
            try await device.waitUntil("the pushed message") { _ in chat.messages.last?.content == "pushed" }
            #expect(device.client.state == .live)
        }
    }

    @Test("a refresh connects, or throws without a server or user")
    func offline() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database, port: try await unusedPort())
            try await AppDevice.with(.node(node.port)) { device in
                @MainActor func refusal() async -> PostlineError.Code? {
                    do {
                        try await device.client.refresh()
                        return nil
                    } catch {
                        return error.code
                    }
                }
                #expect(await refusal() == .signedOut)
                try await device.signIn(.alice)
                try await node.kill()
                try await device.waitUntil("the offline state") { if case .offline = $0.state { true } else { false } }
                #expect(await refusal() == .offline)
                try await database.psql(
                    "update user_profiles set full_name = 'Alice Elsewhere' where id = '\(Person.alice.id)'")
                let again = try await ServeProcess.start(database, port: node.port)
                defer { again.command.signal(SIGKILL) }
                // A connection attempt that began before the server started fails.
                try await eventually("a refresh") { await refusal() == nil }
                #expect(device.client.me?.fullName == "Alice Elsewhere")
                await device.client.enterBackground()
                #expect(await refusal() == .offline)
            }
        }
    }

    @Test("a refresh syncs from the cursor, and recovers from a failure")
    func failed() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                let before = server.calls("sync.open").count
                server.answer("sync.open", #"{"cursor":"d"}"#)
                try await device.client.refresh()
                #expect(server.calls("sync.open").count == before + 1)
                #expect(server.calls("sync.open").last?["cursor"] == "c")
                server.answer("sync.open", "error:unavailable", #"{"cursor":"e"}"#)
                await #expect(throws: PostlineError.self) { try await device.client.refresh() }
                // The state is still that of the closed connection until the client opens the next.
                try await eventually("the next sync") { server.calls("sync.open").count == before + 3 }
                try await device.waitUntilLive()
                try await device.client.refresh()
                #expect(server.calls("sync.open").last?["cursor"] == "e")
            }
        }
    }

    @Test("the states of the list and of a refresh show their progress and errors")
    func states() async throws {
        try await ScriptedServer.with { server in
            server.answer("sync.open", "silence")
            try await AppDevice.with(.node(server.port)) { device in
                let client = device.client
                #expect(client.listState == .idle && client.refreshState == .idle)
                let states = ClientObserver { client.listState }
                try await client.signIn(email: Person.alice.email, password: "postline-dev")
                try await device.waitUntil("the first load") { $0.listState == .loading && $0.state == .catchingUp }
                server.answer("sync.open", #"{"cursor":"d","conversations":[\#(ScriptedServer.conversation())]}"#)
                await client.disconnect()
                #expect(client.listState.failure == .offline)
                #expect(await offline(client) && client.refreshState.failure == .offline)
                try client.connect()
                try await device.waitUntilLive()
                #expect(client.listState == .idle && client.refreshState == .idle)
                try await device.waitUntil("the last state") { _ in states.values.last == .idle }
                server.answer("sync.open", "silence")
                async let refresh: Void = client.refresh()
                try await device.waitUntil("the refresh") { $0.refreshState == .loading }
                // The list stays, with its state.
                #expect(client.listState == .idle && client.conversations.count == 1)
                server.answer("sync.open", "error:unavailable", #"{"cursor":"e"}"#)
                await client.enterBackground()
                _ = try? await refresh
                #expect(client.refreshState.failure != nil)
                await client.enterForeground()
                try await device.waitUntil("the end of the failure") { $0.state == .live && $0.refreshState == .idle }
            }
        }
    }

    @Test("a cancelled call throws `cancelled` and is no failure of the view")
    func cancelled() async throws {
        try await ScriptedServer.with { server in
            let conversation = ScriptedServer.conversation().replacing(#""last_seq":0"#, with: #""last_seq":40"#)
            let list = #"{"cursor":"d","conversations":[\#(conversation)]}"#
            server.answer("sync.open", list)
            server.answer("messages.list", "silence")
            server.answer("profiles.search", "silence")
            try await AppDevice.with(.node(server.port)) { device in
                try await device.client.signIn(email: Person.alice.email, password: "postline-dev")
                try await device.waitUntilLive()
                let search = Task { try await device.client.searchProfiles("bob") }
                try await device.waitUntil("the request") { _ in !server.calls("profiles.search").isEmpty }
                search.cancel()
                await #expect { try await search.value } throws: { ($0 as? PostlineError)?.code == .cancelled }
                let chat = try await device.client.loadedChat(with: .aliceBob)
                let older = Task { try await chat.loadOlder() }
                try await device.waitUntil("the page") { _ in chat.olderState == .loading }
                older.cancel()
                await #expect { try await older.value } throws: { ($0 as? PostlineError)?.code == .cancelled }
                #expect(chat.olderState == .idle)
            }
        }
    }

    private func offline(_ client: PostlineClient) async -> Bool {
        do {
            try await client.refresh()
            return false
        } catch {
            return error.code == .offline
        }
    }
}
