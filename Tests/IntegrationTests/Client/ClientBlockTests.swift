import Testing

@testable import Postline

@Suite("Blocks, by the client")
@MainActor
struct ClientBlockTests {
    @Test("blocks and unblocks a user, whose messages are refused meanwhile")
    func blocks() async throws {
        try await withAliceAndBob { _, alice, bob in
            let bobID = try #require(bob.client.me?.id)
            #expect(try await alice.client.block(bobID) == [bobID])
            #expect(try await alice.client.blockedUserIDs() == [bobID])
            #expect(try await bob.client.blockedUserIDs() == [])
            try await bob.client.send("are you there?", in: .aliceBob)
            try await bob.waitUntil("the refusal") { $0.refusedChanges.first?.error.code == .forbidden }
            #expect(try await alice.client.unblock(bobID) == [])
            let refused = try #require(bob.client.refusedChanges.first)
            try await bob.client.retryChange(refused.id)
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            try await alice.waitUntil("the message") { _ in chat.messages.last?.content == "are you there?" }
        }
    }
}
