internal import Postgres

extension Operation {
    /// The methods `conversations.*`.
    static let conversations = [open, get, list, createGroup, update, addMembers, removeMember, setRole, mute, typing]

    private static let open = Operation(
        "conversations.open", .user, "The one direct conversation with another user, made if there was none.",
        [.user, .profiles], result: .conversationWithPeople, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.open_conversation", "select api.open_conversation($1::uuid, $2::boolean)"),
            [params.uuid("user_id"), params.withProfiles])
    }

    private static let get = Operation(
        "conversations.get", .user, "One conversation of the caller's.", [.conversation, .profiles],
        result: .conversationWithPeople, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.conversation", "select api.conversation($1::uuid, $2::boolean)"),
            [params.uuid("conversation_id"), params.withProfiles])
    }

    private static let list = Operation(
        "conversations.list", .user, "The caller's conversations and their people, newest message first.",
        [
            Parameter("limit", .integer(1...100), .optional, default: .integer(50), "How many at most."),
            Parameter("before", .string(.any), .optional, "The \"next\" of the page before."),
        ],
        result: .object([
            ("conversations", .array(of: .conversation)), ("profiles", .array(of: .profile)),
            ("next", .string.nullable),
        ])
    ) { session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.conversations", "select api.conversations($1::int, $2)"),
            [params.digits("limit"), params.string("before")])
    }

    private static let createGroup = Operation(
        "conversations.create_group", .user, "Makes a group, which the caller owns.",
        [
            .title, Parameter("member_ids", .uuids(1...255), "Who else is in it, as a set: 256 members in all."),
            .profiles,
        ],
        result: .conversationWithPeople, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.create_group", "select api.create_group($1, $2::uuid[], $3::boolean)"),
            [params.string("title"), params.uuids("member_ids"), params.withProfiles],
            members: params.count("member_ids"))
    }

    private static let mute = Operation(
        "conversations.mute", .user, "Has no push tell the caller of the conversation's messages.",
        [
            .conversation,
            Parameter(
                "until", .string(.timestamp, validatedBy: .database), .optionalOrNull,
                "Until when; without it for good. Null: not any more."),
        ],
        result: .conversation, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.mute_conversation", "select api.mute_conversation($1::uuid, $2)"),
            [
                params.uuid("conversation_id"),
                params.isGiven("until") ? params.string("until") : "9999-12-31T00:00:00Z",
            ])
    }

    private static let typing = Operation(
        "conversations.typing", .user, "Tells the other members who are live that the caller is typing.",
        [
            .conversation,
            Parameter("is_typing", .bool, .optional, default: .bool(true), "False: no more."),
        ],
        result: .object([]), errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        guard let conversation = params.id("conversation_id") else { throw .fault("a checked param is no UUID") }
        return try await session.publishTyping(in: conversation, params.bool("is_typing"))
    }

    private static let update = Operation(
        "conversations.update", .user, "Names a group.", [.conversation, .title, .profiles],
        result: .conversationWithPeople, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.update_conversation", "select api.update_conversation($1::uuid, $2, $3::boolean)"),
            [params.uuid("conversation_id"), params.string("title"), params.withProfiles])
    }

    private static let addMembers = Operation(
        "conversations.add_members", .user, "Adds users to a group.",
        [
            .conversation, Parameter("user_ids", .uuids(1...255), "Whom to add; who is in it stays as is."), .profiles,
        ],
        result: .conversationWithPeople, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.add_members", "select api.add_members($1::uuid, $2::uuid[], $3::boolean)"),
            [params.uuid("conversation_id"), params.uuids("user_ids"), params.withProfiles],
            members: params.count("user_ids"))
    }

    private static let removeMember = Operation(
        "conversations.remove_member", .user, "Removes a member from a group; oneself: leaves it.",
        [.conversation, .user],
        result: .conversationOrLeft,
        errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.remove_member", "select api.remove_member($1::uuid, $2::uuid)"),
            [params.uuid("conversation_id"), params.uuid("user_id")])
    }

    private static let setRole = Operation(
        "conversations.set_role", .user, "Gives a member of a group a role; to give \"owner\" is to hand it over.",
        [
            .conversation, .user,
            Parameter("role", .string(.choice(["owner", "admin", "member"])), "The member's from now on."), .profiles,
        ],
        result: .conversationWithPeople, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.set_member_role", "select api.set_member_role($1::uuid, $2::uuid, $3, $4::boolean)"),
            [params.uuid("conversation_id"), params.uuid("user_id"), params.string("role"), params.withProfiles])
    }
}

extension Parameter {
    /// A conversation of the caller.
    static let conversation = Parameter("conversation_id", .uuid, "A conversation of the caller's.")

    fileprivate static let user = Parameter("user_id", .uuid, "The other user.")
    fileprivate static let title = Parameter(
        "title", .string(.characters(1...100), validatedBy: .database), "The group's name.")
    fileprivate static let profiles = Parameter(
        "profiles", .bool, .optional, default: .bool(false), "Whether the members' profiles come with it.")
}

extension Params {
    /// True if the result includes the profiles of the members, as PostgreSQL text.
    fileprivate var withProfiles: String { String(bool("profiles")) }
}
