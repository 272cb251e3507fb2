import BoundedWait
import Foundation
import Postline
import TestSupport
import Testing

@Suite("Switching users on a device")
@MainActor
struct ClientSwitchTests {
    @Test("a chat of a signed-out account does nothing for the next one")
    func endedChat() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            let old = try await device.client.loadedChat(with: .aliceBob)
            try await device.client.signOut()
            try await device.client.signIn(email: " \(Person.bob.email) ", password: "postline-dev")
            try await device.waitUntilLive()
            for call in [{ try await old.setDraft("x") }, { _ = try await old.send("x") }, { try await old.load() }] {
                await #expect { try await call() } throws: { ($0 as? PostlineError)?.code == .signedOut }
            }
            let new = try await device.client.loadedChat(with: .aliceBob)
            #expect(new !== old && new.draft.isEmpty && !new.contents.contains("x"))
        }
    }

    @Test("two users see only their own data and send only their own outbox", .covers("E7"))
    func twoUsers() async throws {
        try await withDevice { database, _, device in
            let client = device.client
            let sent = """
                select p.username || ': ' || m.content from messages m join user_profiles p on p.id = sender_id
                where content like 'device %' order by seq
                """
            try await device.signIn(.alice)
            await client.disconnect()
            // Bob is a member too, so the message could be sent as his.
            try await client.send("device of alice", in: .aliceBob)
            try await client.updateProfile { $0.bio = "Of Alice's outbox." }
            try await client.chat(with: .aliceBob).setDraft("Alice's draft")
            #expect(client.pendingChangeCount == 2)
            try await client.signOut()

            try await device.signIn(.bob)
            #expect(client.me?.username == "bob" && client.pendingChangeCount == 0)
            let his = try await client.loadedChat(with: .aliceBob)
            #expect(!his.contents.contains("device of alice") && his.draft == "")
            #expect(!client.conversations.contains { $0.id == .aliceCarol })
            try await his.send("device of bob")
            try await device.waitUntil("the sent message") { $0.pendingChangeCount == 0 }
            #expect(try await database.column(sent) == ["bob: device of bob"])
            await client.disconnect()
            try await his.send("device of bob, later")
            try await client.signOut()

            try await device.signIn(.alice)
            #expect(client.me?.username == "alice")
            try await device.waitUntil("her sent message") { $0.pendingChangeCount == 0 }
            #expect(client.me?.bio == "Of Alice's outbox.")
            #expect(client.chat(with: .aliceBob).draft == "Alice's draft")
            #expect(try await client.loadedChat(with: .bobDave).messages.isEmpty)
            #expect(
                try await database.column(sent) == ["bob: device of bob", "alice: device of alice"])
            #expect(
                try await database.column("select username from user_profiles where bio like 'Of Alice%'")
                    == ["alice"])
            try await client.signOut()

            try await device.signIn(.bob)
            try await device.waitUntil("his sent message") { $0.pendingChangeCount == 0 }
            #expect(
                try await database.column(sent) == [
                    "bob: device of bob", "alice: device of alice", "bob: device of bob, later",
                ])
        }
    }

    @Test("signing out keeps the data unless asked to erase it", .covers("B35"))
    func erasing() async throws {
        try await withDevice { database, _, device in
            let client = device.client
            func files() throws -> [String] {
                try FileManager.default.subpathsOfDirectory(atPath: device.folder.path)
                    .filter { $0.contains(Person.alice.id) }.sorted()
            }
            @MainActor func write(_ content: String) async throws {
                try await device.signIn(.alice)
                await client.disconnect()
                try await client.send(content, in: .aliceBob)
                try await client.chat(with: .aliceCarol).setDraft("A draft")
                try await client.setDeviceData("seen", to: true)
            }
            try await write("device, kept")
            try await client.signOut()
            #expect(try files().contains("\(Person.alice.id).sqlite"))
            #expect(try !files().contains { $0.hasSuffix(".secret") })
            #expect(client.account == .signedOut && client.conversations.isEmpty && client.deviceData.isEmpty)
            try await device.signIn(.alice)
            #expect(client.chat(with: .aliceCarol).draft == "A draft")
            #expect(client.deviceData == ["seen": true])
            try await device.waitUntil("the sent message") { $0.pendingChangeCount == 0 }
            try await client.signOut()

            try await write("device, erased")
            try await client.signOut(erasing: true)
            #expect(try files() == [])
            try await device.signIn(.alice)
            #expect(client.chat(with: .aliceCarol).draft == "" && client.deviceData.isEmpty)
            #expect(client.pendingChangeCount == 0)
            #expect(
                try await database.column("select content from messages where content like 'device, %'")
                    == ["device, kept"])
        }
    }
}
