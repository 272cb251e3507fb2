import Testing

@testable import Postline

@MainActor
@Suite("The client's delivered marks", .timeLimit(.minutes(20)))
struct ClientDeliveredTests {
    @Test("a message is delivered when the other device has stored it, also in the background")
    func delivered() async throws {
        try await withAliceAndBob { _, alice, bob in
            let chat = try await alice.client.loadedChat(with: .aliceBob)
            try await chat.send("while he is there")
            try await alice.waitUntil("the delivery") { _ in
                chat.messages.last.map { $0.content == "while he is there" && $0.isDelivered } == true
            }
            #expect(chat.messages.last?.isRead == false && chat.messages.last?.delivery == .sent)
            let member = try #require(chat.conversation?.members.first { $0.userID == .bob })
            #expect(member.lastDeliveredSeq == chat.messages.last?.seq)
            #expect(member.lastReadSeq < member.lastDeliveredSeq)
            await bob.client.enterBackground()
            try await chat.send("while he is away")
            try await alice.waitUntil("the sent message") { _ in chat.messages.last?.seq != nil }
            #expect(await bob.client.sync())
            try await alice.waitUntil("the delivery in the background") { _ in
                chat.messages.last.map { $0.content == "while he is away" && $0.isDelivered } == true
            }
        }
    }

    @Test("marks never move back, and a read mark implies them")
    func marks() async throws {
        try await ScriptedServer.with { server in
            try await AppDevice.with(.node(server.port)) { device in
                try await device.signIn(.alice)
                let chat = try await device.client.loadedChat(with: .aliceBob)
                func push(_ cursor: String, _ list: String, _ mark: String, _ seq: Int) {
                    server.push(
                        "changes",
                        #"""
                        {"cursor":"\#(cursor)","\#(list)":[{"conversation_id":"\#(Room.aliceBob)",\#
                        "user_id":"\#(Person.bob.id)","\#(mark)":\#(seq)}]}
                        """#)
                }
                let messages = (1...4).map { ScriptedServer.message($0, from: .alice) }
                server.push("changes", #"{"cursor":"m","messages":[\#(messages.joined(separator: ","))]}"#)
                try await device.waitUntil("the messages") { _ in chat.messages.count == 4 }
                #expect(chat.messages.allSatisfy { !$0.isDelivered })
                push("d2", "delivered", "last_delivered_seq", 2)
                try await device.waitUntil("two") { _ in chat.messages.map(\.isDelivered) == [true, true, false, false]
                }
                push("d1", "delivered", "last_delivered_seq", 1)
                push("r3", "reads", "last_read_seq", 3)
                try await device.waitUntil("three") { _ in chat.messages.map(\.isRead) == [true, true, true, false] }
                #expect(chat.messages.map(\.isDelivered) == [true, true, true, false])
                #expect(chat.conversation?.members.first { $0.userID == .bob }?.lastDeliveredSeq == 3)
                // A server that knows nothing of it gets no acknowledgement.
                #expect(server.calls("sync.ack").isEmpty)
            }
        }
    }
}
