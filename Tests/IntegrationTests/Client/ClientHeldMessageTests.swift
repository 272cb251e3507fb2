import Testing

@testable import Postline

@Suite("Held messages, by the client")
@MainActor
struct ClientHeldMessageTests {
    @Test("the sender sees a held message, also as the preview, and the other a deleted one until it is released")
    func holds() async throws {
        try await withAliceAndBob { database, alice, bob in
            try await FilterTests.filter("add", "gamble", "--action", "hold", on: database)
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            let other = try await bob.client.loadedChat(with: .aliceBob)
            @MainActor func preview() -> String? {
                alice.client.conversations.first { $0.id == .aliceBob }?.lastMessageContent
            }
            try await alice.client.send("let us gamble", in: .aliceBob)
            try await alice.waitUntil("the held message") { _ in chat.messages.last?.isHeld == true }
            #expect(chat.messages.last?.content == "let us gamble" && chat.messages.last?.deletedAt == nil)
            try await bob.waitUntil("a deleted message") { _ in other.messages.last?.deletedAt != nil }
            #expect(other.messages.last?.content == nil && other.messages.last?.isHeld == false)
            // The conversation comes again, without a preview.
            try await alice.client.setArchived(true, of: .aliceBob)
            try await alice.waitUntil("the archive") { client in
                client.conversations.contains { $0.id == .aliceBob && $0.isArchived }
            }
            #expect(preview() == "let us gamble")
            let seq = try #require(chat.messages.last?.seq)
            try await database.psql("select admin.decide_held('me', '\(Room.aliceBob)', \(seq), true)")
            try await bob.waitUntil("the message") { _ in other.messages.last?.content == "let us gamble" }
            try await alice.waitUntil("the decision") { _ in chat.messages.last?.isHeld == false }
            #expect(other.messages.last?.deletedAt == nil && other.messages.last?.editedAt == nil)

            try await alice.client.send("gamble again", in: .aliceBob)
            try await alice.waitUntil("the held message") { _ in chat.messages.last?.isHeld == true }
            try await database.psql("select admin.decide_held('me', '\(Room.aliceBob)', \(seq + 1), false)")
            try await alice.waitUntil("the deletion") { _ in chat.messages.last?.deletedAt != nil }
            #expect(chat.messages.last?.content == nil && preview() == nil)
        }
    }
}
