import Foundation

@testable import Chat
@testable import Postline

/// Sample profiles, messages and client states.
enum Fixture {
    static let alice: User.ID = "00000000-0000-4000-8000-00000000000a"
    static let bob: User.ID = "00000000-0000-4000-8000-00000000000b"
    static let carol: User.ID = "00000000-0000-4000-8000-00000000000c"
    static let direct: Conversation.ID = "10000000-0000-4000-8000-000000000001"
    static let group: Conversation.ID = "10000000-0000-4000-8000-000000000002"

    static func person(
        _ id: User.ID = bob, _ name: String? = "Bob Brown", username: String? = "bob", avatarID: String? = nil,
        isGuest: Bool = false, isDeleted: Bool = false
    ) -> User {
        User(
            id: id, username: username, fullName: name, avatarType: avatarID.map { _ in .builtIn }, avatarID: avatarID,
            isVerified: false, isGuest: isGuest, isDeleted: isDeleted, attributes: [:], version: 1, createdAt: time(0),
            updatedAt: time(0))
    }

    /// Alice's own data.
    static func me(isGuest: Bool = false, username: String? = "alice", allowedAt: Date? = nil) -> Me {
        var me = Me.newGuest("guest")
        me.profile = person(alice, "Alice Ample", username: username, isGuest: isGuest)
        me.email = isGuest ? nil : "alice@example.com"
        me.profile.bio = "Maps and\nmountains."
        me.usernameChangeAllowedAt = allowedAt
        return me
    }

    static func message(
        _ seq: Int?, _ content: String?, from sender: User.ID = bob, in conversationID: Conversation.ID = direct,
        delivery: Delivery = .sent, id: Message.ID? = nil
    ) -> Message {
        Message(
            id: id ?? Message.ID("message \(seq ?? 0)"), conversationID: conversationID, seq: seq, senderID: sender,
            kind: .text,
            content: content, isRead: false, createdAt: time(seq ?? 59),
            deletedAt: content == nil ? time(seq ?? 59) : nil, delivery: delivery, isMine: sender == alice)
    }

    static func refusal(_ id: Int64, _ kind: RefusedChange.Kind = .message, _ content: String? = "hello")
        -> RefusedChange
    {
        RefusedChange(
            id: id, kind: kind, conversationID: direct, content: content, fields: [:],
            error: PostlineError(.forbidden, "No."),
            createdAt: time(0))
    }

    static func model(_ scene: Scene = Scene()) -> ChatModel {
        var model = ChatModel()
        _ = model.handle(.shows(scene.shown))
        return model
    }

    static let future = Date.distantFuture

    /// Returns the time at this number of minutes after 10:00 UTC on 20 November 2026.
    static func time(_ minute: Int) -> Date { Date(timeIntervalSince1970: Double(1_795_168_800 + minute * 60)) }
}

/// A sample client state: Alice with a direct conversation with Bob and two unread messages.
struct Scene {
    var state = ConnectionState.live
    var me: Me? = Fixture.me()
    var users = [
        Fixture.bob: Fixture.person(), Fixture.carol: Fixture.person(Fixture.carol, "Carol", username: "carol"),
    ]
    var conversations: [Conversation] = []
    var messages: [Conversation.ID: [Message]] = [:]
    var older: Set<Conversation.ID> = []
    var refused: [RefusedChange] = []
    var waiting = 0
    var typing: [Conversation.ID: [User.ID]] = [:]

    init() {
        add(Fixture.direct, members: [Fixture.alice, Fixture.bob])
        say("one")
        say("two")
    }

    init(of me: Me?) { self.me = me }

    mutating func add(_ id: Conversation.ID, title: String? = nil, members: [User.ID]) {
        conversations.append(
            Conversation(
                id: id, myID: Fixture.alice, kind: title == nil ? .direct : .group, title: title,
                members: members.map { .init(userID: $0, role: .member, joinedAt: Fixture.time(0), lastReadSeq: 0) },
                users: [], version: 1, lastSeq: 0, lastReadSeq: 0, createdAt: Fixture.time(0),
                updatedAt: Fixture.time(0)))
        messages[id] = []
    }

    /// Appends the conversation's next message, confirmed by the server.
    mutating func say(_ content: String, from sender: User.ID = Fixture.bob, in id: Conversation.ID = Fixture.direct) {
        change(id) { conversation in
            conversation.lastSeq += 1
            conversation.lastMessageContent = content
            conversation.lastMessageTime = Fixture.time(conversation.lastSeq)
            conversation.lastMessageSenderID = sender
            if sender == Fixture.alice { conversation.lastReadSeq = conversation.lastSeq }
        }
        let seq = conversations.first { $0.id == id }?.lastSeq
        messages[id, default: []].append(Fixture.message(seq, content, from: sender, in: id))
    }

    mutating func change(_ id: Conversation.ID = Fixture.direct, _ body: (inout Conversation) -> Void) {
        for index in conversations.indices where conversations[index].id == id { body(&conversations[index]) }
    }

    var shown: ClientSnapshot {
        func person(_ id: User.ID) -> User? { id == me?.id ? me?.profile : users[id] }
        return ClientSnapshot(
            state: state, me: me,
            conversations: conversations.map { conversation in
                var conversation = conversation
                conversation.users = conversation.members.compactMap { person($0.userID) }
                return conversation
            },
            chats: messages.reduce(into: [:]) { chats, chat in
                let messages = chat.value.map { message in
                    var message = message
                    message.sender = person(message.senderID)
                    return message
                }
                chats[chat.key] = .init(messages: messages, hasOlder: older.contains(chat.key))
            },
            refused: refused, waiting: waiting, typing: typing)
    }
}
