import Accounts
import Postgres
import WireProtocol

extension Operation {
    /// The methods `reports.*` and `moderation.*`: all users report, moderators do the rest.
    static let reports = [
        create, list, get, assign, resolve, held, release, reject, removeMessage, banUser, unbanUser,
    ]

    private static let create = Operation(
        "reports.create", .user,
        "Reports a message or a user to the moderators. While the caller has an open report of the same, returns that.",
        [
            Parameter("conversation_id", .uuid, .optional, "The message's conversation."),
            Parameter("seq", .integer(1...(.max)), .optional, "The message."),
            Parameter("user_id", .uuid, .optional, "The user, instead of a message."),
            Parameter(
                "reason", .string(.choice(["spam", "abuse", "sexual", "violence", "illegal", "other"])), "The reason."),
            Parameter("comment", .string(.characters(0...1_000)), .optional, "What the moderators should know."),
        ],
        alternatives: Alternatives(first: "conversation_id", second: "user_id", isRequired: true),
        result: .object([("id", .uuid)]), errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.create_report", "select api.create_report($1::uuid, $2::bigint, $3::uuid, $4, $5)"),
            [
                params.uuid("conversation_id"), params.digits("seq"), params.uuid("user_id"), params.string("reason"),
                params.string("comment"),
            ])
    }

    private static let list = Operation(
        "reports.list", .user,
        "Lists reports that are not closed, the oldest first, or those of one state. For moderators.",
        [
            Parameter(
                "state", .string(.choice(["open", "in_review", "closed"])), .optional,
                "Lists those of this state; closed ones the newest first."),
            Parameter("limit", .integer(1...50), .optional, default: .integer(50), "The most results."),
            Parameter("after", .string(.any), .optional, "The \"next\" of the previous page."),
        ],
        result: .object([("reports", .array(of: .report)), ("next", .string.nullable)]), errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.read(
            Statement("api.reports", "select api.reports($1, $2::int, $3)"),
            [params.string("state"), params.digits("limit"), params.string("after")])
    }

    private static let get = Operation(
        "reports.get", .user, "Returns a report with its evidence. For moderators.", [report],
        result: .report, errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try await session.read(Statement("api.report", "select api.report($1::uuid)"), [params.uuid("id")])
    }

    private static let assign = Operation(
        "reports.assign", .user, "Takes a report into the caller's review. For moderators.", [report],
        result: .report, errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.assign_report", "select api.assign_report($1::uuid)"), [params.uuid("id")])
    }

    private static let resolve = Operation(
        "reports.resolve", .user, "Closes a report, and records the outcome. For moderators.",
        [
            report,
            Parameter(
                "outcome", .string(.choice(["dismissed", "removed", "warned", "banned"])),
                "What was done. It is recorded only: moderation.* does it."),
            Parameter("comment", .string(.characters(0...1_000)), .optional, "A note for other moderators."),
        ],
        result: .report, errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.resolve_report", "select api.resolve_report($1::uuid, $2, $3)"),
            [params.uuid("id"), params.string("outcome"), params.string("comment")])
    }

    private static let report = Parameter("id", .uuid, "The report.")

    private static let held = Operation(
        "moderation.held", .user, "Lists the messages that the filter holds, the oldest first. For moderators.",
        [
            Parameter("limit", .integer(1...50), .optional, default: .integer(50), "The most results."),
            Parameter("after", .string(.any), .optional, "The \"next\" of the previous page."),
        ],
        result: .object([("held", .array(of: .heldMessage)), ("next", .string.nullable)]), errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.read(
            Statement("api.held_messages", "select api.held_messages($1::int, $2)"),
            [params.digits("limit"), params.string("after")])
    }

    private static let release = Operation(
        "moderation.release", .user, "Releases a held message, which all members see then. For moderators.", message,
        result: decided, errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.release_message", "select api.release_message($1::uuid, $2::bigint)"),
            [params.uuid("conversation_id"), params.digits("seq")])
    }

    private static let reject = Operation(
        "moderation.reject", .user, "Rejects a held message, which is deleted then. For moderators.", message,
        result: decided, errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.reject_message", "select api.reject_message($1::uuid, $2::bigint)"),
            [params.uuid("conversation_id"), params.digits("seq")])
    }

    private static let message = [
        Parameter("conversation_id", .uuid, "The conversation."),
        Parameter("seq", .integer(1...(.max)), "The message."),
    ]

    private static let decided: Schema = .object([
        ("conversation_id", .uuid), ("seq", .integer), ("version", .integer), ("deleted_at", .timestamp.nullable),
    ])

    private static let removeMessage = Operation(
        "moderation.remove_message", .user, "Deletes the content of any message, as its sender can. For moderators.",
        message,
        result: .object([
            ("conversation_id", .uuid), ("seq", .integer), ("version", .integer), ("deleted_at", .timestamp),
        ]),
        errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.remove_message", "select api.remove_message($1::uuid, $2::bigint)"),
            [params.uuid("conversation_id"), params.digits("seq")])
    }

    private static let banUser = Operation(
        "moderation.ban_user", .user,
        "Keeps a user out until a time, or for good, and ends its sessions. For moderators.",
        [
            Parameter("user_id", .uuid, "The user."),
            Parameter(
                "until", .string(.timestamp, validatedBy: .database), .optional, "The end of the ban; null: for good."),
        ],
        result: ban, errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try session.service.requireOwnAccounts()
        return try await session.change(
            Statement("api.ban_user", "select api.ban_user($1::uuid, $2)"),
            [params.uuid("user_id"), params.string("until")])
    }

    private static let unbanUser = Operation(
        "moderation.unban_user", .user, "Lifts a moderator's ban. The user signs in anew. For moderators.",
        [Parameter("user_id", .uuid, "The user.")],
        result: ban, errors: [.forbidden, .notFound]
    ) { session, params throws(ProtocolError) in
        try session.service.requireOwnAccounts()
        return try await session.change(
            Statement("api.unban_user", "select api.unban_user($1::uuid)"), [params.uuid("user_id")])
    }

    private static let ban: Schema = .object([
        ("user_id", .uuid), ("is_banned", .bool), ("banned_until", .timestamp.nullable),
    ])
}

extension MessagingService {
    /// - Throws: `forbidden` if another server keeps the accounts.
    fileprivate func requireOwnAccounts() throws(ProtocolError) {
        guard accounts.provider == .builtin else {
            throw ProtocolError(.forbidden, "Another server keeps the accounts: ban the user there.")
        }
    }
}
