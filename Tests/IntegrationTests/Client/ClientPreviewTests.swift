import Foundation
import Testing

@testable import Postline

@Suite("Client previews")
@MainActor
struct ClientPreviewTests {
    private let alice = User(id: "a", username: "alice", fullName: "Alice Ample")
    private let bob = User(id: "b", fullName: "Bob Brown")

    private func preview() -> PostlineClient {
        let talk = Conversation(id: "talk", myID: alice.id, users: [alice, bob], lastReadSeq: 1)
        let hike = Conversation(
            id: "hike", myID: alice.id, title: "Hike", users: [alice, bob], createdAt: .distantPast)
        return .preview(
            me: alice, conversations: [hike, talk],
            messages: [
                Message(id: "1", conversationID: "talk", seq: 1, senderID: alice.id, content: "Hello"),
                Message(id: "2", conversationID: "talk", seq: 2, senderID: bob.id, content: "Hello yourself"),
                Message(id: "3", conversationID: "talk", seq: nil, senderID: alice.id, content: "On my way"),
            ])
    }

    @Test("a preview shows its data like a client that is live")
    func shown() async throws {
        let client = preview()
        #expect(client.state == .live && client.account == .user(id: "a") && client.me?.fullName == "Alice Ample")
        #expect(client.conversations.map(\.displayName) == ["Bob Brown", "Hike"])
        #expect(client.unreadCount == 1 && client.pendingChangeCount == 1)
        let chat = try await client.loadedChat(with: "talk")
        #expect(chat.messages.map(\.content) == ["Hello", "Hello yourself", "On my way"])
        #expect(chat.messages.map(\.isMine) == [true, false, true])
        #expect(chat.messages.map(\.sender?.displayName) == ["Alice Ample", "Bob Brown", "Alice Ample"])
        #expect(!chat.hasOlder && chat.conversation?.otherUser == bob)
    }

    @Test("a preview shows what the user writes as pending, and has no server")
    func written() async throws {
        let client = preview()
        let chat = try await client.loadedChat(with: "hike")
        try await chat.send("Up we go")
        guard case .queued? = chat.messages.last?.delivery else { return #expect(Bool(false), "\(chat.messages)") }
        await #expect { try await client.searchProfiles("bob") } throws: { ($0 as? PostlineError)?.code == .offline }
        try await client.updateProfile { $0.bio = "Previewed" }
        #expect(client.me?.bio == "Previewed")
    }

    @Test("the data of a preview is deleted with it")
    func deleted() throws {
        var client: PostlineClient? = preview()
        let folder = try #require(client?.folder)
        #expect(FileManager.default.fileExists(atPath: folder.path))
        client = nil
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("two previews share nothing")
    func apart() async throws {
        let (one, other) = (preview(), preview())
        try await one.chat(with: "talk").send("Only here")
        #expect(one.pendingChangeCount == 2 && other.pendingChangeCount == 1)
    }
}
