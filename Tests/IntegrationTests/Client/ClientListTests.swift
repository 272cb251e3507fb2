import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Conversation list")
@MainActor
struct ClientListTests {
    @Test("a row has its name, preview, time, unread count and avatar", .covers("A19"))
    func row() async throws {
        try await withDevice { database, node, device in
            try await device.signIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await device.client.markRead(.aliceBob)
            try await device.waitUntil("the read mark") { $0.pendingChangeCount == 0 }
            try await bob.send("The first", to: Room.aliceBob)
            try await bob.send("The preview", to: Room.aliceBob)
            try await device.waitUntil("his messages") {
                $0.conversations.first?.lastMessageContent == "The preview"
            }
            let row = try #require(device.client.conversations.first)
            #expect(row.id == .aliceBob)
            #expect(
                row.displayName
                    == (try await database.value(
                        "select full_name from user_profiles where id = '\(Person.bob.id)'")))
            let time = try await database.value(
                "select extract(epoch from last_message_time) from conversations where id = '\(row.id)'")
            let expected = try #require(time.flatMap { Double($0) })
            #expect(abs(try #require(row.lastMessageTime).timeIntervalSince1970 - expected) < 0.001)
            #expect(row.unreadCount == 2)
            #expect(row.otherUser?.avatar == .builtIn(id: "otter"))
        }
    }

    @Test("an unknown built-in avatar is drawn as initials", .covers("C17"))
    func unknownAvatar() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            #expect(Set(try await device.client.builtInAvatars().map(\.id)) == BuiltInAvatar.standardIDs)
            @MainActor func bob() -> User? {
                device.client.conversations.first { $0.id == .aliceBob }?.otherUser
            }
            #expect(bob()?.avatar(builtInIDs: BuiltInAvatar.standardIDs) == .builtIn(id: "otter"))
            // The server has avatars that this app does not know.
            try await database.psql(
                """
                insert into built_in_avatars values ('comet', 'Comet', '#5e5ce6', 99);
                update user_profiles set avatar_id = 'comet', full_name = 'Bob Brown'
                where id = '\(Person.bob.id)'
                """)
            try await device.waitUntil("his new avatar") { _ in bob()?.avatar == .builtIn(id: "comet") }
            let drawn = bob()?.avatar(builtInIDs: BuiltInAvatar.standardIDs)
            #expect(drawn == .initials("BB", color: AvatarColor(of: .bob)))
            // An app that fetches the server's avatars can draw it.
            let ids = Set(try await device.client.builtInAvatars().map(\.id))
            #expect(bob()?.avatar(builtInIDs: ids) == .builtIn(id: "comet"))
            // The user's own picture is not a built-in avatar.
            let carol = try #require(try await device.client.profiles(withIDs: [.carol]).first)
            #expect(
                carol.avatar(builtInIDs: []) == .custom(url: "https://images.example.com/carol.jpg"))
        }
    }

    @Test("cached messages show a renamed sender's new name offline", .covers("B43"))
    func renamedSender() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database)
            defer { node.command.signal(SIGKILL) }
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                @MainActor func names(_ chat: Chat) -> Set<String?> {
                    Set(chat.messages.filter { $0.senderID == .bob }.map { $0.sender?.fullName })
                }
                let before = try await device.client.loadedChat(with: .aliceBob)
                let ids = before.messages.map(\.id)
                try await database.psql(
                    "update user_profiles set full_name = 'Robert' where id = '\(Person.bob.id)'")
                try await device.waitUntil("the new name") { _ in names(before) == ["Robert"] }
                try await node.kill()
                try await device.relaunch()
                let chat = try await device.client.loadedChat(with: .aliceBob)
                #expect(names(chat) == ["Robert"])
                #expect(chat.messages.map(\.id) == ids)
                #expect(
                    device.client.conversations.first { $0.id == .aliceBob }?.displayName
                        == "Robert")
            }
        }
    }

    @Test("marks read up to the visible message, and never back")
    func markedUpTo() async throws {
        try await withDevice { database, node, device in
            try await device.signIn(.alice)
            let bob = try await node.signedIn(.bob)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            try await chat.markRead()
            for number in 1...3 { try await bob.send("number \(number)", to: Room.aliceBob) }
            try await device.waitUntil("his messages") { _ in chat.conversation?.unreadCount == 3 }
            let newest = Array(chat.messages.suffix(3))
            let (first, second) = (newest[0], newest[1])
            #expect(second.content == "number 2")
            try await chat.markRead(upTo: second)
            #expect(chat.conversation?.unreadCount == 1)
            try await chat.markRead(upTo: first)
            #expect(chat.conversation?.unreadCount == 1)
            try await device.waitUntil("the sent message") { $0.pendingChangeCount == 0 }
            #expect(
                try await database.value(
                    """
                    select last_read_seq from conversation_members
                    where conversation_id = '\(Room.aliceBob)' and user_id = '\(Person.alice.id)'
                    """) == second.seq.map { "\($0)" })
        }
    }
}
