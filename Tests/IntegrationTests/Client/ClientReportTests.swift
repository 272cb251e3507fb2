import Testing

@testable import Postline

@Suite("Reports, by the client")
@MainActor
struct ClientReportTests {
    @Test("reports a message and a user, once while a report is open")
    func reports() async throws {
        try await withAliceAndBob { database, alice, bob in
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            try await bob.client.send("an insult", in: .aliceBob)
            try await alice.waitUntil("the message") { _ in chat.messages.last?.content == "an insult" }
            let message = try #require(chat.messages.last)
            try await alice.client.report(message, reason: .abuse, comment: "He is rude.")
            try await alice.client.report(message, reason: .spam)
            try await alice.client.report(userID: try #require(bob.client.me?.id), reason: .other)
            let stored = try await database.column(
                "select concat_ws(' ', reason, comment, seq is null) from app.reports order by created_at")
            #expect(stored == ["spam He is rude. f", "other t"])
            #expect(alice.client.me?.isModerator == false)
            #expect(try await alice.client.contactURL() == nil)
            let own = try #require(alice.client.me?.id)
            await #expect(throws: PostlineError.self) { try await alice.client.report(userID: own, reason: .spam) }
        }
    }
}
