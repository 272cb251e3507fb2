internal import Postgres

extension Operation {
    /// The methods `messages.*`.
    static let messages = [send, list, edit, delete, markRead]

    static let send = Operation(
        "messages.send", .user, "Sends a message; with the client_id of an earlier one it is that message, once.",
        [
            .conversation,
            Parameter(
                "content", .string(.characters(1...8_000)), unless: .init(parameter: "kind", value: "image"),
                "Kept as it is sent."),
            Parameter("client_id", .uuid, .optional, "The client's own for this message, so that it is sent once."),
            Parameter(
                "kind", .string(.choice(["text", "image"])), .optional, default: .string("text"),
                "An image speaks for itself: its content may be empty or absent."),
            Parameter("attachment", .object(members: attachment), .optional, "What an image needs."),
        ],
        result: .message, errors: [.notFound, .clientIDReused]
    ) { session, params throws(ProtocolError) in try await session.send(params) }

    private static let attachment = [
        Parameter("media_id", .uuid, .optional, "A picture that was uploaded for this conversation: media.create."),
        Parameter(
            "url", .string(.httpsURL(maxBytes: 2_048), validatedBy: .database), .optional,
            "In place of that: where the picture is."),
        Parameter("mime_type", .string(.bytes(0...255), validatedBy: .database), .optional, "What it is."),
        Parameter("width", .integer(count), .optional, "In pixels."),
        Parameter("height", .integer(count), .optional, "In pixels."),
        Parameter("bytes", .integer(count), .optional, "How large it is."),
        Parameter(
            "blurhash", .string(.characters(0...128), validatedBy: .database), .optional,
            "What is shown until the picture is there."),
    ]

    /// The range of integers that a double represents exactly, for clients that read numbers as doubles.
    private static let count: ClosedRange<Int64> = 0...(1 << 53)

    private static let list = Operation(
        "messages.list", .user, "Messages of a conversation: the newest, or those just before or after one.",
        [
            .conversation,
            Parameter("before_seq", .integer(1 ... .max), .optional, "The newest of those before this one."),
            Parameter("after_seq", .integer(0 ... .max), .optional, "The oldest of those after this one."),
            Parameter("limit", .integer(1...200), .optional, default: .integer(50), "How many at most."),
        ],
        alternatives: Alternatives(first: "before_seq", second: "after_seq", isRequired: false),
        result: .object([("messages", .array(of: .message))]), errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.readPreferringStandby(
            Statement("api.messages", "select api.messages($1::uuid, $2::bigint, $3::bigint, $4::int)"),
            [
                params.uuid("conversation_id"), params.digits("before_seq"), params.digits("after_seq"),
                params.digits("limit"),
            ])
    }

    private static let edit = Operation(
        "messages.edit", .user, "Changes the content of one's own message.",
        [
            .conversation, .message,
            // The database rejects an empty text. The kind of the message is unknown here.
            Parameter("content", .string(.characters(0...8_000)), "The new one; only an image's may be empty."),
        ],
        result: .message, errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.edit_message", "select api.edit_message($1::uuid, $2::bigint, $3)"),
            [params.uuid("conversation_id"), params.digits("seq"), params.string("content")])
    }

    private static let delete = Operation(
        "messages.delete", .user, "Deletes a message, which keeps its place.", [.conversation, .message],
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
            Parameter("seq", .integer(0 ... .max), "The last message that was read; beyond the last it is the last."),
        ],
        result: .object([
            ("conversation_id", .uuid), ("user_id", .uuid), ("last_read_seq", .integer), ("unread_count", .integer),
        ]),
        errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.mark_read", "select api.mark_read($1::uuid, $2::bigint)"),
            [params.uuid("conversation_id"), params.digits("seq")])
    }
}

extension Parameter {
    fileprivate static let message = Parameter(
        "seq", .integer(1 ... .max), "The message's number in its conversation.")
}
