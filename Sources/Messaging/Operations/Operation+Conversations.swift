import Postgres
import WireProtocol

extension Operation {
    /// The methods `conversations.*`.
    static let conversations = [
        open, get, list, createGroup, update, addMembers, removeMember, setRole, mute, set, typing,
    ]

    private static let open = Operation(
        "conversations.open", .user,
        "Returns the direct conversation with another user, and creates it if there is none.",
        [.user, .profiles], result: .conversationWithProfiles, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.open_conversation", "select api.open_conversation($1::uuid, $2::boolean)"),
            [params.uuid("user_id"), params.withProfiles])
    }

    private static let get = Operation(
        "conversations.get", .user, "Returns a conversation of the caller.", [.conversation, .profiles],
        result: .conversationWithProfiles, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.conversation", "select api.conversation($1::uuid, $2::boolean)"),
            [params.uuid("conversation_id"), params.withProfiles])
    }

    private static let list = Operation(
        "conversations.list", .user, "Lists the caller's conversations and their profiles, newest message first.",
        [
            Parameter("limit", .integer(1...100), .optional, default: .integer(50), "The most results."),
            Parameter("before", .string(.any), .optional, "The \"next\" of the previous page."),
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
        "conversations.create_group", .user, "Creates a group that the caller owns.",
        [
            .title,
            Parameter("member_ids", .uuids(1...255), "The other members, as a set. A group has at most 256 members."),
            .profiles, .data,
        ],
        result: .conversationWithProfiles, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.create_group", "select api.create_group($1, $2::uuid[], $3::boolean, $4::jsonb)"),
            [
                params.string("title"), params.uuids("member_ids"), params.withProfiles, params.object("data")?.text,
            ],
            members: params.count("member_ids"))
    }

    private static let mute = Operation(
        "conversations.mute", .user, "Mutes device pushes of a conversation for the caller.",
        [
            .conversation,
            Parameter(
                "until", .string(.timestamp, validatedBy: .database), .optionalOrNull,
                "The end of the mute; without it there is none. Null unmutes."),
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

    private static let set = Operation(
        "conversations.set", .user,
        "Sets what the caller sees of a conversation. Other members do not see it. Absent params leave it as it is.",
        [
            .conversation,
            Parameter(
                "is_marked_unread", .bool, .optional,
                "True to mark it as unread. Reading or sending a message ends that."),
            Parameter(
                "is_archived", .bool, .optional, "True to archive it. A message that mentions the caller ends that."),
            Parameter("is_pinned", .bool, .optional, "True to pin it above the others."),
        ],
        result: .conversation, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement(
                "api.set_conversation", "select api.set_conversation($1::uuid, $2::boolean, $3::boolean, $4::boolean)"),
            [
                params.uuid("conversation_id"), params.optionalBool("is_marked_unread"),
                params.optionalBool("is_archived"), params.optionalBool("is_pinned"),
            ])
    }

    private static let typing = Operation(
        "conversations.typing", .user, "Sends a typing notice to the other members that are live.",
        [
            .conversation,
            Parameter("is_typing", .bool, .optional, default: .bool(true), "False if the caller stopped typing."),
        ],
        result: .object([]), errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        guard let conversation = params.id("conversation_id") else { throw .fault("a checked param is no UUID") }
        return try await session.publishTyping(in: conversation, params.bool("is_typing"))
    }

    private static let update = Operation(
        "conversations.update", .user,
        "Changes the title of a group, or the app's data of a conversation, or when its messages expire.",
        [
            .conversation,
            Parameter(
                "title", .string(.characters(1...100), validatedBy: .database), .optional,
                "The group's title. It is required unless another change is given."),
            .profiles,
            Parameter(
                "data", .object(maxBytes: 4_096), .clearable,
                "The app's own data. Both members of a direct conversation may change it, of a group its owner and admins."
            ),
            Parameter(
                "message_ttl_seconds", .integer(60...31_536_000), .clearable,
                "The seconds after which a message is deleted; null keeps messages. Who may change data may change it."
            ),
        ],
        result: .conversationWithProfiles, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        if params.string("title") == nil, !params.isGiven("data"), !params.isGiven("message_ttl_seconds") {
            throw .invalid("title", "is missing")
        }
        return try await session.change(
            Statement(
                "api.update_conversation",
                """
                select api.update_conversation(\
                $1::uuid, $2, $3::boolean, $4::jsonb, $5::boolean, $6::int, $7::boolean)
                """),
            [
                params.uuid("conversation_id"), params.string("title"), params.withProfiles,
                params.object("data")?.text,
                String(!params.isGiven("data")), params.digits("message_ttl_seconds"),
                String(!params.isGiven("message_ttl_seconds")),
            ],
            tellingMembersOf: params.uuid("conversation_id"))
    }

    private static let addMembers = Operation(
        "conversations.add_members", .user, "Adds users to a group.",
        [
            .conversation, Parameter("user_ids", .uuids(1...255), "The users to add. Existing members are ignored."),
            .profiles,
        ],
        result: .conversationWithProfiles, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.add_members", "select api.add_members($1::uuid, $2::uuid[], $3::boolean)"),
            [params.uuid("conversation_id"), params.uuids("user_ids"), params.withProfiles],
            tellingMembersOf: params.uuid("conversation_id"), adding: params.count("user_ids"))
    }

    private static let removeMember = Operation(
        "conversations.remove_member", .user, "Removes a member from a group, or leaves it.",
        [.conversation, .user],
        result: .conversationOrLeft,
        errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.remove_member", "select api.remove_member($1::uuid, $2::uuid)"),
            [params.uuid("conversation_id"), params.uuid("user_id")],
            tellingMembersOf: params.uuid("conversation_id"))
    }

    private static let setRole = Operation(
        "conversations.set_role", .user, "Sets the role of a member. Setting \"owner\" transfers the ownership.",
        [
            .conversation, .user,
            Parameter("role", .string(.choice(["owner", "admin", "member"])), "The new role of the member."), .profiles,
        ],
        result: .conversationWithProfiles, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.set_member_role", "select api.set_member_role($1::uuid, $2::uuid, $3, $4::boolean)"),
            [params.uuid("conversation_id"), params.uuid("user_id"), params.string("role"), params.withProfiles],
            tellingMembersOf: params.uuid("conversation_id"))
    }
}

extension Parameter {
    /// A conversation of the caller.
    static let conversation = Parameter("conversation_id", .uuid, "A conversation of the caller.")

    fileprivate static let user = Parameter("user_id", .uuid, "The other user.")
    fileprivate static let title = Parameter(
        "title", .string(.characters(1...100), validatedBy: .database), "The group's title.")
    fileprivate static let profiles = Parameter(
        "profiles", .bool, .optional, default: .bool(false), "True to include the members' profiles.")
}

extension Params {
    /// True if the result includes the profiles of the members, as PostgreSQL text.
    fileprivate var withProfiles: String { String(bool("profiles")) }
}
