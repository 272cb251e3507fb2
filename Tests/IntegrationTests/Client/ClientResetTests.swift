import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Client after a database reset")
@MainActor
struct ClientResetTests {
    private static let time = Date(timeIntervalSince1970: 1_795_168_800)
    private static let (alice, bob, nobody): (User.ID, User.ID, User.ID) = (
        .alice, .bob, "00000000-0000-4000-8000-00000000dead"
    )

    private static func profile(_ id: User.ID, _ name: String, _ version: Int) -> User {
        User(
            id: id, username: nil, fullName: name, isVerified: false, isGuest: false, isDeleted: false, attributes: [:],
            version: version, createdAt: time, updatedAt: time)
    }

    private static func me(_ name: String, _ version: Int) -> Me {
        var me = Me.newGuest("guest")
        me.profile = profile(alice, name, version)
        return me
    }

    private static func conversation(
        _ id: Conversation.ID, _ title: String, _ version: Int, lastSeq: Int, readUpTo mark: Int = 0
    ) -> WireConversation {
        WireConversation(
            id: id, kind: .group, title: title,
            members: [alice, bob].map { .init(userID: $0, role: .member, joinedAt: time, lastReadSeq: mark) },
            lastSeq: lastSeq, version: version, lastMessageContent: "\(title) \(lastSeq)", lastMessageTime: time,
            lastMessageSenderID: bob, lastReadSeq: mark, createdAt: time, updatedAt: time)
    }

    private static func message(
        _ seq: Int, in id: Conversation.ID, _ content: String, version: Int = 1, from sender: User.ID = bob,
        clientID: String? = nil
    ) -> WireMessage {
        WireMessage(
            id: "\(content) \(seq)", conversationID: id, seq: seq, senderID: sender, clientID: clientID, kind: .text,
            content: content, version: version, createdAt: time)
    }

    /// Returns a page of a sync.
    private static func page(_ cursor: String, reset: Bool = false, more: Bool = false) -> Changes {
        var page = Changes()
        (page.cursor, page.reset, page.more) = (cursor, reset, more)
        return page
    }

    /// Returns the changes of the old server, with high versions.
    private static func former() -> Changes {
        var page = page("old", reset: true)
        page.me = me("Old Alice", 90)
        page.profiles = [profile(bob, "Old Bob", 80), profile(Self.nobody, "Old Nobody", 70)]
        page.conversations = [
            conversation("shared", "Old", 60, lastSeq: 50, readUpTo: 50), conversation("gone", "Gone", 5, lastSeq: 3),
        ]
        page.messages =
            (31...50).map { message($0, in: "shared", "old", version: 9) } + [message(3, in: "gone", "gone")]
            // A response about a conversation that the user has left meanwhile.
            + [message(7, in: "left", "left", version: 9)]
        page.presence = [bob, Self.nobody].map { WirePresence(userID: $0, isOnline: true) }
        return page
    }

    private func withStore(_ body: (Store, URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-store-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try Store(folder: folder, userID: Self.alice)
        try store.writeNow { writer in
            try writer.apply(Self.former())
            try writer.setDraft("typed", in: "gone")
            try writer.enqueue(.send, queueKey: "shared", ["content": "waits"], clientID: "mine")
        }
        try body(store, folder)
        try store.close(erasing: false)
    }

    private func conversations(_ store: Store) throws -> [Conversation.ID: Conversation] {
        try store.readNow { try $0.conversations(me: $0.me(), isLive: true) }.reduce(into: [:]) { $0[$1.id] = $1 }
    }

    private func contents(_ store: Store, _ id: Conversation.ID = "shared") throws -> [String?] {
        try store.readNow { try $0.content(of: .newest(limit: 100), in: id, me: $0.me()).messages.map(\.content) }
    }

    /// Returns the three pages of the reset.
    private static func pages() -> [Changes] {
        var pages = [page("new 1", reset: true, more: true), page("new 2", more: true), page("new 3")]
        pages[0].me = me("New Alice", 1)
        pages[0].profiles = [profile(bob, "New Bob", 2)]
        pages[1].conversations = [conversation("shared", "New", 1, lastSeq: 4, readUpTo: 2)]
        pages[1].messages = [message(3, in: "shared", "three"), message(4, in: "shared", "four")]
        pages[2].conversations = [conversation("left", "Left", 1, lastSeq: 8)]
        pages[2].messages = [message(8, in: "left", "eight")]
        return pages
    }

    private func expectNewWorld(_ store: Store) throws {
        let shown = try conversations(store)
        #expect(Set(shown.keys) == ["shared", "left"])
        #expect(shown["shared"]?.title == "New" && shown["shared"]?.lastSeq == 4 && shown["shared"]?.version == 1)
        #expect(shown["shared"]?.lastReadSeq == 2 && shown["shared"]?.members.map(\.lastReadSeq) == [2, 2])
        #expect(Set(shown["shared"]?.users.map(\.fullName) ?? []) == ["New Alice", "New Bob"])
        #expect(try contents(store) == ["three", "four", "waits"])
        #expect(try contents(store, "left") == ["eight"])
        try store.readNow { reader throws in
            #expect(try reader.profiles([Self.bob, Self.nobody], me: nil).values.map(\.fullName) == ["New Bob"])
            #expect(try reader.serverMe()?.fullName == "New Alice")
            #expect(try reader.drafts() == ["gone": "typed"])
            #expect(try reader.changes(queueKey: "shared").map(\.clientID) == ["mine"])
            #expect(try reader.cursor == "new 3")
        }
        // Later changes apply by the versions of the new database.
        var change = Self.page("new 4")
        change.me = Self.me("Newer Alice", 2)
        change.profiles = [Self.profile(Self.bob, "Newer Bob", 3)]
        change.conversations = [Self.conversation("shared", "Newer", 2, lastSeq: 5)]
        change.messages = [Self.message(5, in: "shared", "mine", from: Self.alice, clientID: "mine")]
        try store.writeNow { try $0.apply(change) }
        let then = try conversations(store)["shared"]
        #expect(then?.title == "Newer" && then?.lastReadSeq == 5 && then?.lastSeq == 5)
        #expect(Set(then?.users.map(\.fullName) ?? []) == ["Newer Alice", "Newer Bob"])
        #expect(try contents(store) == ["three", "four", "mine"])
    }

    @Test("a reset replaces all server data and keeps the device's own")
    func lowerVersions() throws {
        try withStore { store, _ in
            for page in Self.pages() { try store.writeNow { try $0.apply(page) } }
            try expectNewWorld(store)
        }
    }

    @Test("continues or restarts a reset after a kill between pages", arguments: [1, 2])
    func killed(after pages: Int) throws {
        try withStore { store, folder in
            for page in Self.pages().prefix(pages) { try store.writeNow { try $0.apply(page) } }
            // Objects that have not come yet are shown as before.
            #expect(try conversations(store)["gone"]?.title == "Gone")
            let again = try Store(folder: folder, userID: Self.alice)
            for page in Self.pages().dropFirst(pages) { try again.writeNow { try $0.apply(page) } }
            try expectNewWorld(again)
            try again.close(erasing: false)
        }
        try withStore { store, folder in
            // A third database, whose reset is interrupted by that of the second.
            for var page in Self.pages().prefix(pages) {
                page.me?.profile.version += 10
                for index in page.profiles.indices { page.profiles[index].version += 10 }
                for index in page.conversations.indices { page.conversations[index].version += 10 }
                try store.writeNow { try $0.apply(page) }
            }
            let again = try Store(folder: folder, userID: Self.alice)
            for page in Self.pages() { try again.writeNow { try $0.apply(page) } }
            try expectNewWorld(again)
            try again.close(erasing: false)
        }
    }

    @Test("keeps a response that overtakes a page of a reset")
    func overtaking() throws {
        try withStore { store, _ in
            let pages = Self.pages()
            try store.writeNow { try $0.apply(pages[0]) }
            var answer = Changes()
            answer.me = Self.me("Answered Alice", 3)
            answer.messages = [Self.message(5, in: "shared", "mine", from: Self.alice, clientID: "mine")]
            answer.reads = [WireRead(conversationID: "gone", userID: Self.alice, lastReadSeq: 1)]
            try store.writeNow { try $0.apply(answer) }
            for page in pages.dropFirst() { try store.writeNow { try $0.apply(page) } }
            let shown = try conversations(store)
            #expect(Set(shown.keys) == ["shared", "left"])
            #expect(shown["shared"]?.title == "New" && shown["shared"]?.lastSeq == 5)
            #expect(shown["shared"]?.lastMessageContent == "mine" && shown["shared"]?.lastReadSeq == 5)
            #expect(try contents(store) == ["three", "four", "mine"])
            #expect(try store.readNow { try $0.serverMe()?.fullName } == "Answered Alice")
        }
    }

    @Test("shows a fresh database's data, and sends the outbox")
    func freshDatabase() async throws {
        try await TestDatabase.with { old in
            for number in 1...20 {
                try await old.psql(
                    """
                    update user_profiles set full_name = 'Old ' || username || ' \(number)';
                    insert into messages (conversation_id, sender_id, content)
                    values ('\(Room.aliceBob)', '\(Self.bob)', 'old \(number)')
                    """)
            }
            let node = try await ServeProcess.start(old)
            defer { node.command.signal(SIGKILL) }
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                #expect(device.client.me?.fullName == "Old alice 20")
                try await node.kill()
                try await device.client.send("waited", in: .aliceBob)
                try await device.client.chat(with: .alps).setDraft("typed")
                let port = node.port
                try await TestDatabase.with { try await expectWorld(of: $0, on: device, port: port) }
            }
        }
    }

    private func expectWorld(of fresh: TestDatabase, on device: AppDevice, port: Int) async throws {
        let said = try await fresh.column(
            "select content from messages where conversation_id = '\(Room.aliceBob)' order by seq")
        let again = try await ServeProcess.start(fresh, port: port)
        defer { again.command.signal(SIGKILL) }
        device.client.networkChanged()
        // The session belonged to the old database.
        try await device.waitUntil("the sign-out") { $0.account == .signedOut }
        try await device.signIn(.alice)
        try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
        let client = device.client
        let chat = try await client.loadedChat(with: .aliceBob)
        while chat.hasOlder { try await chat.loadOlder() }
        #expect(chat.contents == said + ["waited"])
        #expect(client.me?.fullName == "Alice Moreau")
        #expect(chat.conversation?.lastMessageContent == "waited")
        #expect(chat.conversation?.otherUser?.fullName == "Bob Okafor")
        #expect(client.chat(with: .alps).draft == "typed")
        try await fresh.psql(
            """
            update user_profiles set full_name = 'Bob the Second' where id = '\(Self.bob)';
            insert into messages (conversation_id, sender_id, content)
            values ('\(Room.aliceBob)', '\(Self.bob)', 'and then')
            """)
        try await device.waitUntil("the later changes") { _ in
            chat.conversation?.otherUser?.fullName == "Bob the Second"
                && chat.messages.last?.content == "and then"
                && chat.conversation?.lastMessageContent == "and then"
        }
    }
}
