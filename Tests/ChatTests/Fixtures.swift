internal import Messaging
internal import Synchronization

@testable internal import Chat

/// Counts from 1.
final class Counter: Sendable {
    private let value = Atomic(0)

    func next() -> Int { value.add(1, ordering: .relaxed).newValue }
}

/// Wire objects, made short.
enum Fixture {
    static let alice = "00000000-0000-4000-8000-00000000000a"
    static let bob = "00000000-0000-4000-8000-00000000000b"
    static let carol = "00000000-0000-4000-8000-00000000000c"
    static let direct = "10000000-0000-4000-8000-000000000001"
    static let group = "10000000-0000-4000-8000-000000000002"

    static func person(
        _ id: String, _ name: String?, username: String? = nil, version: Int = 1, avatarID: String? = nil,
        isCard: Bool = false
    ) -> JSON {
        .object([
            "id": .string(id), "username": username.map(JSON.string) ?? .null,
            "full_name": name.map(JSON.string) ?? .null,
            "avatar_id": avatarID.map(JSON.string) ?? .null, "is_deleted": isCard ? .null : .bool(false),
            "version": .integer(version),
        ])
    }

    /// Alice's own data.
    static func me(
        isGuest: Bool = false, version: Int = 1, username: String? = "alice", allowedAt: String? = nil
    ) -> JSON {
        .object([
            "id": .string(alice), "username": username.map(JSON.string) ?? .null, "full_name": .string("Alice Ample"),
            "is_guest": .bool(isGuest), "is_deleted": .bool(false), "version": .integer(version),
            "email": isGuest ? .null : .string("alice@example.com"), "bio": .string("Maps and\nmountains."),
            "username_change_allowed_at": allowedAt.map(JSON.string) ?? .null,
        ])
    }

    static func builtIn(_ id: String, _ name: String, _ color: String) -> JSON {
        .object(["id": .string(id), "name": .string(name), "color": .string(color)])
    }

    static func conversation(
        _ id: String = direct, title: String? = nil, members: [(String, Int)] = [(alice, 0), (bob, 0)],
        lastSeq: Int = 0, lastContent: String? = nil, version: Int = 1, lastReadSeq: Int = 0, at minute: Int = 0
    ) -> JSON {
        .object([
            "id": .string(id), "kind": .string(title == nil ? "direct" : "group"),
            "title": title.map(JSON.string) ?? .null,
            "members": .array(
                members.map { member in
                    .object([
                        "user_id": .string(member.0), "role": .string("member"), "last_read_seq": .integer(member.1),
                    ])
                }),
            "last_seq": .integer(lastSeq), "version": .integer(version),
            "last_message_content": lastContent.map(JSON.string) ?? .null,
            "last_message_time": lastSeq > 0 ? .string(time(minute)) : .null,
            "last_message_sender_id": lastSeq > 0 ? .string(bob) : .null, "last_read_seq": .integer(lastReadSeq),
            "created_at": .string(time(0)),
        ])
    }

    static func message(
        _ seq: Int, _ content: String?, from sender: String = bob, name: String? = "Bob Brown",
        in conversation: String = direct,
        version: Int = 1, senderVersion: Int = 1, clientID: String? = nil, isDeleted: Bool = false
    ) -> JSON {
        .object([
            "id": .string("20000000-0000-4000-8000-00000000\(seq)"), "conversation_id": .string(conversation),
            "seq": .integer(seq), "sender_id": .string(sender),
            "sender": person(sender, name, version: senderVersion, isCard: true),
            "client_id": clientID.map(JSON.string) ?? .null,
            "kind": .string("text"), "content": content.map(JSON.string) ?? .null, "attachment": .null,
            "version": .integer(version), "created_at": .string(time(seq)), "edited_at": .null,
            "deleted_at": isDeleted ? .string(time(seq)) : .null,
        ])
    }

    static func changes(
        reset: Bool = false, me: JSON? = nil, profiles: [JSON] = [], conversations: [JSON] = [], messages: [JSON] = [],
        reads: [(String, String, Int)] = [], left: [String] = [], limited: [String] = []
    ) -> Changes {
        var members: [JSONObject.Member] = [
            .init(name: "cursor", value: .string("c")), .init(name: "reset", value: .bool(reset)),
            .init(name: "more", value: .bool(false)),
            .init(name: "profiles", value: .array(profiles)),
            .init(name: "conversations", value: .array(conversations)),
            .init(name: "messages", value: .array(messages)), .init(name: "left", value: .array(left.map(JSON.string))),
            .init(name: "limited", value: .array(limited.map(JSON.string))),
            .init(
                name: "reads",
                value: .array(
                    reads.map { read in
                        .object([
                            "conversation_id": .string(read.0), "user_id": .string(read.1),
                            "last_read_seq": .integer(read.2),
                        ])
                    })),
        ]
        if let me { members.append(.init(name: "me", value: me)) }
        return Changes(JSONObject(members))
    }

    /// Alice's world: a direct conversation with Bob in which there are two messages, both unread.
    static let opening = changes(
        reset: true, me: person(alice, "Alice Ample", username: "alice"),
        profiles: [person(bob, "Bob Brown", username: "bob")],
        conversations: [conversation(lastSeq: 2, lastContent: "two", at: 2)],
        messages: [message(1, "one"), message(2, "two")])

    static func world() -> World {
        var world = World()
        _ = world.apply(opening)
        return world
    }

    static func model() -> ChatModel {
        let counter = Counter()
        var model = ChatModel(makeID: { "client-\(counter.next())" })
        _ = model.handle(.changes(opening))
        _ = model.handle(.link(.online))
        return model
    }

    static func time(_ minute: Int) -> String {
        "2026-11-20T10:\(minute < 10 ? "0" : "")\(minute % 60):00.000000Z"
    }
}
