import Foundation
import Testing

@testable import Postline

@Suite("Expired messages and the export, by the client")
@MainActor
struct ClientRetentionTests {
    @Test("expired messages leave the chat, the search, and what replies quote of them, and stay away after a relaunch")
    func expires() async throws {
        try await withAliceAndBob { database, alice, bob in
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            try await alice.client.send("a secret plan", in: .aliceBob)
            try await alice.waitUntil("the message") { _ in chat.messages.last?.delivery == .sent }
            let seq = try #require(chat.messages.last?.seq)
            try await alice.client.send(
                "an answer", in: .aliceBob, details: MessageDetails(replyTo: chat.messages.last))
            try await alice.waitUntil("the answer") { _ in chat.messages.last?.replyTo?.content == "a secret plan" }
            #expect(try await alice.client.searchMessages("secret").messages.count == 1)

            try await bob.client.setMessageTTL(.seconds(60), of: .aliceBob)
            try await alice.waitUntil("the time") { client in
                client.conversations.first { $0.id == .aliceBob }?.messageTTL == .seconds(60)
            }
            #expect(chat.messages.last?.event?.kind == .messageTTLChanged)
            #expect(chat.messages.last?.event?.messageTTL == .seconds(60))
            try await database.psql(
                "update conversations set first_seq = \(seq + 1) where id = '\(Conversation.ID.aliceBob)'")
            try await alice.waitUntil("the expiry") { _ in chat.messages.first?.content == "an answer" }
            #expect(!chat.hasOlder)
            #expect(chat.messages.first?.replyTo?.seq == seq && chat.messages.first?.replyTo?.content == nil)
            await alice.client.disconnect()
            #expect(try await alice.client.searchMessages("secret").messages.isEmpty)
            try await alice.relaunch()
            let again = try await alice.client.loadedChat(with: .aliceBob)
            #expect(again.messages.first?.content == "an answer" && again.messages.first?.replyTo?.content == nil)
        }
    }

    @Test("writes everything that the user may see to a file, a line for each object")
    func exports() async throws {
        try await withAliceAndBob { database, alice, _ in
            let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl")
            defer { try? FileManager.default.removeItem(at: file) }
            let count = try await alice.client.exportData(to: file)
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == count && lines.first?.hasPrefix(#"{"me":{"#) == true)
            let visible = try await database.value(
                """
                select count(*) from messages join conversation_members m using (conversation_id)
                 where m.user_id = '\(User.ID.alice)'
                """)
            #expect("\(lines.count { $0.hasPrefix(#"{"message":{"#) })" == visible)

            await alice.client.disconnect()
            await #expect { try await alice.client.exportData(to: file) } throws: {
                ($0 as? PostlineError)?.code == .offline
            }
            #expect(try String(contentsOf: file, encoding: .utf8).split(separator: "\n").count == count)
        }
    }
}
