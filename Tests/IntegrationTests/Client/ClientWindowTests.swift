import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Chat windows")
@MainActor
struct ClientWindowTests {
    /// Runs a body with Alice's device, and a node whose chat of Alice and Bob has 400 more messages.
    private func withLongChat(_ body: @MainActor (TestDatabase, ServeProcess, AppDevice) async throws -> Void)
        async throws
    {
        try await TestDatabase.with { database in
            try await Self.insert(400, database)
            try await ServeProcess.with(database) { node in
                try await AppDevice.with(.node(node.port)) { device in
                    try await device.signIn(.alice)
                    try await body(database, node, device)
                }
            }
        }
    }

    private static func insert(_ count: Int, _ database: TestDatabase) async throws {
        try await database.psql(
            """
            insert into messages (conversation_id, sender_id, content)
            select '\(Room.aliceBob)', '\(Person.bob.id)', 'inserted ' || n from generate_series(1, \(count)) n
            """)
    }

    /// Returns the shown numbers, and records an issue if they have a gap.
    private func seqs(_ chat: Chat) -> ClosedRange<Int> {
        let seqs = chat.messages.compactMap(\.seq)
        let range = (seqs.first ?? 0)...(seqs.last ?? 0)
        #expect(seqs == Array(range))
        return range
    }

    @Test("a message outside of the chat is fetched once, with later changes")
    func singleMessage() async throws {
        try await withLongChat { database, _, device in
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let last = try #require(chat.conversation?.lastSeq)
            let content = try await database.value(
                "select content from messages where conversation_id = '\(Room.aliceBob)' and seq = 100")
            #expect(!seqs(chat).contains(100))
            let message = try await chat.message(numbered: 100)
            #expect(message.content == content && message.sender?.id == .bob)
            #expect(!seqs(chat).contains(100))
            for seq in [0, -1, last + 1, .max] {
                #expect(await code { _ = try await chat.message(numbered: seq) } == .notFound)
            }
            #expect(await code { _ = try await device.client.message(numbered: 1, in: .bobDave) } == .notFound)
            try await database.psql(
                "update messages set content = 'edited' where conversation_id = '\(Room.aliceBob)' and seq = 100")
            try await eventually("the edit") { try await chat.message(numbered: 100).content == "edited" }
            await device.client.disconnect()
            #expect(try await chat.message(numbered: 100).content == "edited")
            #expect(await code { _ = try await chat.message(numbered: 101) } == .offline)
        }
    }

    @Test("a jump shows the messages around one, and pages lead to both ends")
    func jump() async throws {
        try await withLongChat { database, _, device in
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let last = try #require(chat.conversation?.lastSeq)
            #expect(!chat.hasNewer && seqs(chat).upperBound == last)
            try await chat.jump(toSeq: 100)
            #expect(seqs(chat) == 75...125 && chat.hasOlder && chat.hasNewer)
            #expect(chat.loadingState == .idle && chat.olderState == .idle && chat.newerState == .idle)
            try await chat.loadOlder()
            #expect(seqs(chat) == 25...125)
            try await chat.loadNewer()
            #expect(seqs(chat) == 25...175)
            while chat.hasOlder { try await chat.loadOlder() }
            while chat.hasNewer { try await chat.loadNewer() }
            #expect(seqs(chat) == 1...last)
            let all = try await database.column(
                "select content from messages where conversation_id = '\(Room.aliceBob)' order by seq")
            #expect(chat.contents == all)
            // A chat that has reached the newest message follows it.
            try await Self.insert(1, database)
            try await device.waitUntil("the new message") { _ in chat.messages.last?.seq == last + 1 }
            #expect(!chat.hasNewer)
            await chat.jumpToNewest()
            #expect(seqs(chat) == last - 48...last + 1)
        }
    }

    @Test("a chat holds a bounded number of messages, and loads the others when the user scrolls back")
    func bounded() async throws {
        try await withLongChat { database, _, device in
            let chat = try await device.client.loadedChat(with: .aliceBob)
            #expect(chat.maxMessages == 1_000)
            chat.maxMessages = 120
            let last = try #require(chat.conversation?.lastSeq)
            #expect(seqs(chat).upperBound == last)
            try await chat.loadOlder()
            #expect(seqs(chat) == last - 99...last && !chat.hasNewer)
            // Each page removes as many at the other end.
            try await chat.loadOlder()
            #expect(seqs(chat) == last - 149...last - 30 && chat.hasNewer && chat.hasOlder)
            var counts: [Int] = []
            while chat.hasOlder {
                try await chat.loadOlder()
                counts.append(seqs(chat).count)
            }
            #expect(seqs(chat).lowerBound == 1 && counts.allSatisfy { $0 <= 120 })
            // A new message is not shown here. The device has the way back.
            try await Self.insert(1, database)
            try await device.waitUntil("the new message") { _ in chat.conversation?.lastSeq == last + 1 }
            #expect(chat.hasNewer)
            await device.client.disconnect()
            while chat.hasNewer {
                try await chat.loadNewer()
                #expect(seqs(chat).count <= 120)
            }
            #expect(seqs(chat).upperBound == last + 1)
            // At the end it follows the newest messages again, within the bound.
            try device.client.connect()
            try await device.waitUntilLive()
            try await Self.insert(1, database)
            try await device.waitUntil("the next message") { _ in chat.messages.last?.seq == last + 2 }
            #expect(!chat.hasNewer && seqs(chat).count <= 120)
            // Whatever it shows, sending shows the newest ones.
            try await chat.loadOlder()
            #expect(chat.hasNewer)
            try await chat.send("shown")
            #expect(chat.messages.last?.content == "shown" && !chat.hasNewer)
        }
    }

    @Test("a jump works without a connection where the device has the messages, and never shows a gap")
    func offline() async throws {
        try await withLongChat { _, _, device in
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let last = try #require(chat.conversation?.lastSeq)
            try await chat.jump(toSeq: 100)
            let id = try #require(chat.messages.first { $0.seq == 110 }?.id)
            await device.client.disconnect()
            await chat.jumpToNewest()
            // By id, from the device. Its neighbours on one side are missing.
            try await chat.jump(to: id)
            #expect(seqs(chat) == 85...125 && chat.hasNewer)
            #expect(chat.loadingState == .idle && chat.olderState == .idle)
            #expect(chat.newerState.failure == .offline)
            #expect(await code { try await chat.loadNewer() } == .offline)
            #expect(seqs(chat) == 85...125)
            // A message that the device does not have leaves the chat as it is.
            #expect(await code { try await chat.jump(toSeq: 200) } == .offline)
            #expect(seqs(chat) == 85...125 && chat.loadingState.failure == .offline)
            try device.client.connect()
            try await device.waitUntilLive()
            try await chat.retry()
            #expect(seqs(chat) == 175...225 && chat.loadingState == .idle)
            await chat.jumpToNewest()
            #expect(seqs(chat).upperBound == last)
        }
    }

    @Test("a jump to a message that does not exist names the field")
    func unknown() async throws {
        try await withLongChat { _, _, device in
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let before = seqs(chat)
            for seq in [0, -1, before.upperBound + 1] {
                await #expect {
                    try await chat.jump(toSeq: seq)
                } throws: { error in
                    (error as? PostlineError)?.code == .notFound && (error as? PostlineError)?.field == "seq"
                }
            }
            await #expect {
                try await chat.jump(to: "no such message")
            } throws: { error in
                (error as? PostlineError)?.code == .notFound && (error as? PostlineError)?.field == "id"
            }
            #expect(seqs(chat) == before)
            // A user who is not a member sees nothing, and gets no page.
            let other = try await device.client.loadedChat(with: .bobDave)
            #expect(await code { try await other.jump(toSeq: 1) } == .notFound)
            #expect(other.messages.isEmpty && other.conversation == nil)
        }
    }

    @Test("a sent message returns a chat to the newest messages")
    func sent() async throws {
        try await withLongChat { _, _, device in
            let chat = try await device.client.loadedChat(with: .aliceBob)
            await device.client.disconnect()
            try await chat.send("not sent yet")
            let unsent = try #require(chat.messages.last)
            try device.client.connect()
            try await device.waitUntilLive()
            try await chat.jump(toSeq: 100)
            #expect(chat.messages.allSatisfy { $0.seq != nil })
            // It has its number by now, or is still in the outbox.
            try await chat.jump(to: unsent.id)
            #expect(chat.messages.last?.id == unsent.id)
            try await chat.jump(toSeq: 100)
            try await chat.send("shown at once")
            #expect(chat.messages.last?.content == "shown at once" && !chat.hasNewer)
        }
    }

    @Test("the unread divider stays while the chat is open")
    func divider() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            try await device.client.markRead(.aliceBob)
            var chat: Chat? = try await device.client.loadedChat(with: .aliceBob)
            #expect(chat?.firstUnreadID == nil)
            try await Self.insert(1, database)
            try await device.waitUntil("the message") { _ in chat?.conversation?.unreadCount == 1 }
            // The user saw it come.
            #expect(chat?.firstUnreadSeq == nil)
            let seq = try #require(chat?.messages.last?.seq)
            chat?.resetFirstUnread()
            #expect(chat?.firstUnreadSeq == seq && chat?.firstUnreadID == chat?.messages.last?.id)
            chat = nil
            chat = try await device.client.loadedChat(with: .aliceBob)
            try await chat?.markRead()
            try await Self.insert(1, database)
            try await device.waitUntil("the next message") { _ in chat?.messages.last?.seq == seq + 1 }
            #expect(chat?.firstUnreadSeq == seq)
            // A chat that opens before the client has caught up counts what comes until then.
            try await chat?.markRead()
            try await device.waitUntil("the read mark") { $0.pendingChangeCount == 0 }
            await device.client.disconnect()
            try await Self.insert(2, database)
            try await device.relaunch()
            let late = try await device.client.loadedChat(with: .aliceBob)
            try await device.waitUntilLive()
            #expect(late.firstUnreadSeq == seq + 2)
        }
    }

    @Test("a gap in the stored messages is not shown, whatever the window")
    func windows() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-window-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try Store(folder: folder, userID: .alice)
        var changes = Changes()
        changes.conversations = [try WireJSON.decode(WireConversation.self, from: Self.conversation(lastSeq: 30))]
        changes.messages = (Array(1...10) + Array(20...30)).map(Self.message)
        try store.writeNow { try $0.apply(changes) }
        func content(_ window: ChatWindow) throws -> ChatContent {
            try store.readNow { try $0.content(of: window, in: .aliceBob, me: nil) }
        }
        func missing(_ window: ChatWindow) throws -> [MissingPage] {
            try store.readNow { try $0.missingPages(of: window, in: .aliceBob) }
        }
        #expect(try content(.newest(limit: 50)).messages.map(\.seq) == Array(20...30))
        #expect(try missing(.newest(limit: 50)) == [MissingPage(direction: .older, bound: 20, limit: 39)])
        #expect(try missing(.newest(limit: 5)) == [])
        let around = ChatWindow.around(seq: 8, older: 3, newer: 5)
        let shown = try content(around)
        #expect(shown.messages.map(\.seq) == Array(5...10))
        #expect(shown.hasOlder && shown.hasNewer && shown.window == around)
        #expect(try missing(around) == [MissingPage(direction: .newer, bound: 10, limit: 3)])
        // Within the gap.
        #expect(
            try missing(.around(seq: 15, older: 2, newer: 2)) == [
                MissingPage(direction: .older, bound: 16, limit: 3),
                MissingPage(direction: .newer, bound: 15, limit: 2),
            ])
        #expect(try content(.around(seq: 15, older: 2, newer: 2)).window == .newest(limit: 50))
        // At both ends nothing is missing.
        #expect(try missing(.around(seq: 1, older: 25, newer: 2)) == [])
        let end = try content(.around(seq: 28, older: 2, newer: 25))
        #expect(end.messages.map(\.seq) == Array(26...30))
        #expect(!end.hasNewer && end.window == .newest(limit: 50))
        // The filled gap is shown.
        changes.messages = (11...19).map(Self.message)
        try store.writeNow { try $0.apply(changes) }
        #expect(try content(.newest(limit: 50)).messages.map(\.seq) == Array(1...30))
    }

    private func code(_ body: () async throws -> Void) async -> PostlineError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? PostlineError)?.code
        }
    }

    private static func conversation(lastSeq: Int) -> Data {
        Data(ScriptedServer.conversation().replacing("\"last_seq\":0", with: "\"last_seq\":\(lastSeq)").utf8)
    }

    private static func message(_ seq: Int) -> WireMessage {
        WireMessage(
            id: "m\(seq)", conversationID: .aliceBob, seq: seq, senderID: .bob, kind: .text, content: "number \(seq)",
            version: 1, createdAt: Date(timeIntervalSince1970: Double(seq)))
    }
}

extension LoadingState {
    /// The code of the error, or nil if the state is another one.
    var failure: PostlineError.Code? { if case .failed(let error) = self { error.code } else { nil } }
}
