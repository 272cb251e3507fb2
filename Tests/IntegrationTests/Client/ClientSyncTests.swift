import Foundation
import Observation
import Postline
import TestSupport
import Testing

@Suite("Client sync")
@MainActor
struct ClientSyncTests {
    @Test(
        "shows the user, all conversations, members and messages",
        .covers("A7"))
    func world() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            let client = device.client
            #expect(client.account == .user(id: .alice))
            #expect(client.me?.username == "alice")
            #expect(client.me?.email == Person.alice.email)
            let shown = client.conversations.map(\.id)
            let unread = try await database.column(
                """
                select conversation_id || ' ' || c.last_seq - m.last_read_seq
                from conversation_members m join conversations c on c.id = m.conversation_id
                where m.user_id = '\(Person.alice.id)' order by c.last_message_time desc
                """)
            #expect(client.conversations.map { "\($0.id) \($0.unreadCount)" } == unread)
            #expect(shown.contains(.aliceBob))
            let withBob = try #require(client.conversations.first { $0.id == .aliceBob })
            #expect(withBob.otherUser?.username == "bob")
            #expect(withBob.displayName == withBob.otherUser?.fullName)
            let chat = try await client.loadedChat(with: .aliceBob)
            while chat.hasOlder { try await chat.loadOlder() }
            let said = try await database.column(
                "select content from messages where conversation_id = '\(Room.aliceBob)' order by seq")
            #expect(chat.contents == said)
            #expect(chat.messages.allSatisfy { $0.sender != nil && $0.delivery == .sent })
        }
    }

    @Test(
        "shows a profile change in all views in one turn",
        .covers("B28", "B34", "B43"))
    func oneTurn() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            let client = device.client
            let chat = try await client.loadedChat(with: .aliceBob)
            /// Returns Bob's name and picture in each view.
            @MainActor func faces() -> Set<Face> {
                var people = chat.messages.filter { $0.senderID == .bob }.map(\.sender)
                people.append(chat.conversation?.otherUser)
                people += client.conversations.flatMap(\.users).filter { $0.id == .bob }
                return Set(people.map { Face(name: $0?.displayName, avatar: $0?.avatar) })
            }
            #expect(faces().count == 1)
            for number in 0..<20 {
                let url = "https://pictures.example.com/\(number).png"
                try await database.psql(
                    """
                    update user_profiles set avatar_type = 'custom', avatar_id = null, avatar_url = '\(url)',
                    full_name = 'Bob \(number)' where id = '\(Person.bob.id)'
                    """)
                try await device.waitUntil("the new name and picture") { _ in
                    let shown = faces()
                    #expect(shown.count == 1, "two views disagree: \(shown)")
                    return shown == [Face(name: "Bob \(number)", avatar: .custom(url: url))]
                }
            }
        }
    }

    /// A user's name and picture as a view draws them.
    private struct Face: Hashable {
        let name: String?
        let avatar: Avatar?
    }

    @Test("shows others' messages, edits, deletions, read marks and groups")
    func changes() async throws {
        try await withAliceAndBob { _, alice, bob in
            let group = try await alice.client.createGroup("Plans", with: [.bob])
            try await bob.waitUntil("the group") { $0.conversations.first?.title == "Plans" }
            let hers = try await alice.client.loadedChat(with: group)
            let his = try await bob.client.loadedChat(with: group)
            try await hers.send("one")
            try await hers.send("two")
            try await bob.waitUntil("the messages") { _ in his.contents == ["one", "two"] }
            #expect(bob.client.conversations.first?.unreadCount == 2)
            #expect(bob.client.conversations.first?.lastMessageContent == "two")
            try await alice.waitUntil("the sent messages") { _ in
                hers.messages.allSatisfy { $0.delivery == .sent }
            }
            #expect(hers.messages.map(\.isRead) == [false, false])
            try await his.markRead()
            #expect(bob.client.conversations.first?.unreadCount == 0)
            try await alice.waitUntil("the read messages") { _ in hers.messages.allSatisfy(\.isRead) }
            try await alice.client.edit(hers.messages[0], to: "uno")
            try await alice.client.delete(hers.messages[1])
            try await bob.waitUntil("the edit and the deletion") { _ in his.contents == ["uno", nil] }
            #expect(his.messages[1].deletedAt != nil)
            try await alice.client.renameGroup(group, to: "Old plans")
            try await bob.waitUntil("the name") { $0.conversations.first?.title == "Old plans" }
            try await alice.client.removeMember(.bob, from: group)
            try await bob.waitUntil("the removal from the group") { client in
                !client.conversations.contains { $0.id == group } && his.messages.isEmpty
                    && his.conversation == nil
            }
        }
    }

    @Test("loads older messages from the device, then the server, without a gap")
    func olderPages() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                """
                insert into messages (conversation_id, sender_id, content)
                select '\(Room.aliceBob)', '\(Person.bob.id)', 'old ' || n from generate_series(1, 300) n
                """)
            try await ServeProcess.with(database) { node in
                try await AppDevice.with(.node(node.port)) { device in
                    try await device.signIn(.alice)
                    let chat = try await device.client.loadedChat(with: .aliceBob)
                    #expect(chat.hasOlder)
                    var pages = 0
                    while chat.hasOlder {
                        try await chat.loadOlder()
                        let seqs = chat.messages.compactMap(\.seq)
                        #expect(seqs == Array((seqs.first ?? 0)...(seqs.last ?? 0)))
                        pages += 1
                    }
                    let all = try await database.column(
                        "select content from messages where conversation_id = '\(Room.aliceBob)' order by seq")
                    #expect(chat.contents == all)
                    #expect(pages >= 6)
                    // All messages are on the device now.
                    try await device.relaunch()
                    await device.client.disconnect()
                    let again = try await device.client.loadedChat(with: .aliceBob)
                    while again.hasOlder { try await again.loadOlder() }
                    #expect(again.contents == all)
                }
            }
        }
    }

    @Test("shows no gap after a long absence, and fills it on demand")
    func gap() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            await device.client.disconnect()
            try await database.psql(
                """
                insert into messages (conversation_id, sender_id, content)
                select '\(Room.aliceBob)', '\(Person.bob.id)', 'missed ' || n from generate_series(1, 400) n
                """)
            try await device.relaunch()
            try await device.waitUntilLive()
            let chat = try await device.client.loadedChat(with: .aliceBob)
            repeat {
                let seqs = chat.messages.compactMap(\.seq)
                #expect(seqs == Array((seqs.first ?? 0)...(seqs.last ?? 0)))
                try await chat.loadOlder()
            } while chat.hasOlder
            #expect(
                chat.contents
                    == (try await database.column(
                        "select content from messages where conversation_id = '\(Room.aliceBob)' order by seq"))
            )
        }
    }

    @Test("syncs over WebSocket")
    func webSocket() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let port = try await node.command.port(of: "serving HTTP")
                try await AppDevice.with(.webSocket("127.0.0.1", port: port, isEncrypted: false)) { device in
                    try await device.signIn(.alice)
                    let chat = try await device.client.loadedChat(with: .aliceBob)
                    try await chat.send("by WebSocket")
                    try await device.waitUntil("the sent message") { _ in chat.messages.last?.delivery == .sent }
                    #expect(chat.messages.last?.content == "by WebSocket")
                }
                // A wrong path is reported as an untrusted server.
                try await AppDevice.with(.webSocket("127.0.0.1", port: port, path: "/v1/nothing", isEncrypted: false)) {
                    device in
                    await #expect {
                        try await device.client.signIn(email: Person.alice.email, password: "postline-dev")
                    } throws: { error in
                        (error as? PostlineError)?.code == .notTrusted
                    }
                    #expect(device.client.account == .signedOut)
                }
            }
        }
    }
}
