import Accounts
import Postgres
import WireProtocol

extension Operation {
    /// The methods `messages.*`. Generated clients name the params that two methods share after the first of them, so
    /// a new method comes after.
    static let messages = [send, list, edit, delete, react, reactions, pin, markRead, append, finish, search]

    static let send = Operation(
        "messages.send", .user, "Sends a message. With the client_id of an earlier message, returns that message.",
        newMessage(unless: [.init(parameter: "is_streaming", values: [.bool(true)])]) + [
            Parameter(
                "is_streaming", .bool, .optional, default: .bool(false),
                "True for a text that messages.append continues and messages.finish ends.")
        ], alternatives: attachmentAlternatives,
        result: .message, errors: [.notFound, .forbidden, .clientIDReused]
    ) { session, params throws(ProtocolError) in try await session.send(params) }

    /// Returns the params of a new message, whose content may be empty with one of these exemptions too.
    static func newMessage(unless exemptions: [Parameter.Exemption] = []) -> [Parameter] {
        [
            .conversation,
            Parameter(
                "content", .string(.characters(1...8_000)),
                unless: [.init(parameter: "kind", values: (attachmentKinds + ["custom"]).map { .string($0) })]
                    + exemptions,
                "The content, stored unchanged."),
        ] + messageDetails
    }

    private static let messageDetails = [
        Parameter("client_id", .uuid, .optional, "The client's idempotency key of this message."),
        Parameter(
            "kind", .string(.choice(["text"] + attachmentKinds + ["custom"])), .optional, default: .string("text"),
            "The kind of message: with several attachments, that of the first one, or \"file\"."),
        Parameter("attachment", .object(members: attachment), .optional, "The only attachment."),
        Parameter("attachments", .objects(1...10, members: attachment), .optional, "The attachments."),
        Parameter(
            "reply_to_seq", .integer(1 ... .max), .optional,
            "The number of the earlier message of the conversation that this one answers."),
        Parameter(
            "mentions", .uuids(0...50), .optional, "The mentioned users. Those who are not members are left out."),
        Parameter(
            "mentions_everyone", .bool, .optional, default: .bool(false),
            "True to mention all members. Only for the owner and admins of a group."),
        .data,
    ]

    /// A new message has one attachment, or a list of them.
    static let attachmentAlternatives = Alternatives(first: "attachment", second: "attachments", isRequired: false)

    /// The kinds of messages that need an attachment. Their content may be empty or absent.
    private static let attachmentKinds = ["image", "video", "audio", "file"]

    private static let attachment = [
        Parameter("media_id", .uuid, .optional, "A file that was uploaded for this conversation (media.create)."),
        Parameter(
            "url", .string(.httpsURL(maxBytes: 2_048), validatedBy: .database), .optional,
            "The URL of the file, unless media_id is given."),
        Parameter("mime_type", .string(.bytes(0...255), validatedBy: .database), .optional, "The media type."),
        Parameter("width", .integer(count), .optional, "In pixels."),
        Parameter("height", .integer(count), .optional, "In pixels."),
        Parameter("bytes", .integer(count), .optional, "The size in bytes."),
        Parameter(
            "blurhash", .string(.characters(0...128), validatedBy: .database), .optional,
            "The placeholder until the picture is loaded."),
        Parameter(
            "name", .string(.characters(1...255), validatedBy: .database), .optional,
            "The name to show, and for downloads. It is never a path."),
        Parameter("duration_ms", .integer(count), .optional, "Of a video or an audio, in milliseconds."),
        Parameter(
            "waveform", .string(.any, validatedBy: .database), .optional,
            "The loudness of a voice message over its time, at most 128 bytes in base64."),
        Parameter(
            "preview_media_id", .uuid, .optional,
            "A picture that was uploaded for this conversation, such as the first frame of a video."),
    ]

    /// The range of integers that a double represents exactly, for clients that read numbers as doubles.
    private static let count: ClosedRange<Int64> = 0...(1 << 53)

    private static let append = Operation(
        "messages.append", .user,
        "Appends to a message of the caller that is streaming, and returns how many characters it has. A repeated call "
            + "changes nothing.",
        [
            .conversation, .message,
            Parameter(
                "start", .integer(0...8_000), "The number of characters before the piece: as many as the message has."),
            Parameter("content", .string(.characters(1...8_000)), "The piece."),
        ],
        result: .object([("conversation_id", .uuid), ("seq", .integer), ("length", .integer)]),
        errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.append(params)
    }

    private static let finish = Operation(
        "messages.finish", .user,
        "Finishes a message of the caller that is streaming, and returns it. One that is finished stays as it is.",
        [.conversation, .message],
        result: .message, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.finish_message", "select api.finish_message($1::uuid, $2::bigint)"),
            [params.uuid("conversation_id"), params.digits("seq")])
    }

    private static let list = Operation(
        "messages.list", .user,
        "Lists messages of a conversation, or the replies to one: the newest, or those before or after a number.",
        [
            .conversation,
            Parameter("before_seq", .integer(1 ... .max), .optional, "Lists the newest messages before this number."),
            Parameter("after_seq", .integer(0 ... .max), .optional, "Lists the oldest messages after this number."),
            Parameter("limit", .integer(1...200), .optional, default: .integer(50), "The most results."),
            Parameter(
                "reply_to_seq", .integer(1 ... .max), .optional, "Lists only the replies to the message of this number."
            ),
        ],
        alternatives: Alternatives(first: "before_seq", second: "after_seq", isRequired: false),
        result: .object([
            ("messages", .array(of: .message)), ("reactions", .array(of: .reactions)), ("pieces", .array(of: .piece)),
        ]),
        errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        let range = [params.digits("before_seq"), params.digits("after_seq"), params.digits("limit")]
        guard let replyTo = params.digits("reply_to_seq") else {
            return try await session.readPreferringStandby(
                Statement("api.messages", "select api.messages($1::uuid, $2::bigint, $3::bigint, $4::int)"),
                [params.uuid("conversation_id")] + range)
        }
        return try await session.readPreferringStandby(
            Statement("api.replies", "select api.replies($1::uuid, $2::bigint, $3::bigint, $4::bigint, $5::int)"),
            [params.uuid("conversation_id"), replyTo] + range)
    }

    private static let edit = Operation(
        "messages.edit", .user, "Changes the content of the caller's own message.",
        [
            .conversation, .message,
            // The database rejects an empty text. The kind of the message is unknown here.
            Parameter(
                "content", .string(.characters(0...8_000)),
                "The new content. Only that of a message with an attachment or a custom message may be empty."),
            Parameter(
                "mentions", .uuids(0...50), .optional,
                "The users who are mentioned now. Those who are not members are left out."),
            Parameter("mentions_everyone", .bool, .optional, "True to mention all members, as in messages.send."),
            Parameter("data", .object(maxBytes: 4_096), .clearable, "The app's own data."),
        ],
        result: .message, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        let edit = Statement(
            "api.edit_message",
            "select api.edit_message($1::uuid, $2::bigint, $3, $4::uuid[], $5::boolean, $6::jsonb, $7::boolean)")
        let parameters = [
            params.uuid("conversation_id"), params.digits("seq"), params.string("content"),
            params.uuids("mentions"), params.optionalBool("mentions_everyone"), params.object("data")?.text,
            String(!params.isGiven("data")),
        ]
        guard params.isGiven("mentions") || params.isGiven("mentions_everyone") else {
            return try await session.change(edit, parameters)
        }
        // Each member is told how many unread messages mention it.
        return try await session.change(edit, parameters, tellingMembersOf: params.uuid("conversation_id"))
    }

    private static let react = Operation(
        "messages.react", .user, "Sets a reaction of the caller to a message, or takes it back.",
        [
            .conversation, .message,
            Parameter(
                "emoji", .string(.reaction), "One emoji, or a name of the app: a-z, 0-9, \"_\", \"+\" and \"-\"."),
            Parameter("is_set", .bool, .optional, default: .bool(true), "False to take the reaction back."),
        ],
        result: .reactions, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.react", "select api.react($1::uuid, $2::bigint, $3, $4::boolean)"),
            [
                params.uuid("conversation_id"), params.digits("seq"), params.string("emoji"),
                String(params.bool("is_set")),
            ])
    }

    private static let reactions = Operation(
        "messages.reactions", .user, "Lists the users who have reacted to a message, the first ones first.",
        [
            .conversation, .message,
            Parameter("emoji", .string(.reaction), .optional, "Lists only this reaction."),
            Parameter("limit", .integer(1...200), .optional, default: .integer(50), "The most results."),
            Parameter("after", .string(.any), .optional, "The \"next\" of the previous page."),
        ],
        result: .object([
            (
                "reactions",
                .array(of: .object([("user_id", .uuid), ("emoji", .string), ("created_at", .timestamp)]))
            ),
            ("next", .string.nullable),
        ]),
        errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.reactions", "select api.reactions($1::uuid, $2::bigint, $3, $4::int, $5)"),
            [
                params.uuid("conversation_id"), params.digits("seq"), params.string("emoji"), params.digits("limit"),
                params.string("after"),
            ])
    }

    private static let search = Operation(
        "messages.search", .user,
        "Searches the caller's messages for all words of a text, the newest first. A last word of three letters or more "
            + "also finds words that begin with it.",
        [
            Parameter("query", .string(.characters(2...100)), "The text to search."),
            Parameter("conversation_id", .uuid, .optional, "Searches only this conversation."),
            Parameter("sender_id", .uuid, .optional, "Searches only the messages of this user."),
            Parameter("limit", .integer(1...50), .optional, default: .integer(20), "The most results."),
            Parameter("before", .string(.any), .optional, "The \"next\" of the previous page."),
        ],
        result: .object([
            ("messages", .array(of: .message)), ("next", .string.nullable), ("is_partial", .bool),
        ]),
        errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.limits.takeSearch(of: session.token.user)
        return try await session.readPreferringStandby(
            Statement("api.search_messages", "select api.search_messages($1, $2::uuid, $3::uuid, $4::int, $5)"),
            [
                params.string("query"), params.uuid("conversation_id"), params.uuid("sender_id"),
                params.digits("limit"), params.string("before"),
            ])
    }

    private static let pin = Operation(
        "messages.pin", .user, "Pins a message for all members, or unpins it.",
        [
            .conversation, .message,
            Parameter("is_pinned", .bool, .optional, default: .bool(true), "False to unpin the message."),
        ],
        result: .conversation, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.pin_message", "select api.pin_message($1::uuid, $2::bigint, $3::boolean)"),
            [params.uuid("conversation_id"), params.digits("seq"), String(params.bool("is_pinned"))],
            tellingMembersOf: params.uuid("conversation_id"))
    }

    private static let delete = Operation(
        "messages.delete", .user, "Deletes a message. A tombstone keeps its number.", [.conversation, .message],
        result: .message, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.delete_message", "select api.delete_message($1::uuid, $2::bigint)"),
            [params.uuid("conversation_id"), params.digits("seq")])
    }

    private static let markRead = Operation(
        "messages.mark_read", .user, "Moves the caller's read mark of a conversation forward.",
        [
            .conversation,
            Parameter(
                "seq", .integer(0 ... .max), "The number of the last message that was read, limited to the newest."),
        ],
        result: .object([
            ("conversation_id", .uuid), ("user_id", .uuid), ("last_read_seq", .integer), ("unread_count", .integer),
            ("unread_mentions", .integer),
        ]),
        errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.mark_read", "select api.mark_read($1::uuid, $2::bigint)"),
            [params.uuid("conversation_id"), params.digits("seq")])
    }
}

extension Parameter {
    /// An app's own data of a new message or conversation.
    static let data = Parameter("data", .object(maxBytes: 4_096), .optional, "The app's own data.")

    fileprivate static let message = Parameter(
        "seq", .integer(1 ... .max), "The message's number in its conversation.")
}
