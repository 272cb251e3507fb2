import Postgres
import WireProtocol

extension Operation {
    /// The methods of messages that are sent at a later time.
    static let scheduledMessages = [schedule, scheduled, unschedule]

    static let schedule = Operation(
        "messages.schedule", .user,
        "Schedules a message, which is sent at its time. With the client_id of an earlier one, returns that.",
        newMessage() + [
            Parameter(
                "due_at", .string(.timestamp, validatedBy: .database),
                "The time to send it, at most a year from now.")
        ],
        alternatives: attachmentAlternatives,
        result: .scheduledMessage, errors: [.notFound, .forbidden, .clientIDReused]
    ) { session, params throws(ProtocolError) in try await session.schedule(params) }

    private static let scheduled = Operation(
        "messages.scheduled", .user,
        "Lists the caller's messages that wait for their time, and those that were refused when it came.",
        [
            Parameter("conversation_id", .uuid, .optional, "Lists only those of this conversation."),
            Parameter("limit", .integer(1...50), .optional, default: .integer(50), "The most results."),
            Parameter("after", .string(.any), .optional, "The \"next\" of the previous page."),
        ],
        result: .object([("scheduled", .array(of: .scheduledMessage)), ("next", .string.nullable)]),
        errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.read(
            Statement("api.scheduled_messages", "select api.scheduled_messages($1::uuid, $2::int, $3)"),
            [params.uuid("conversation_id"), params.digits("limit"), params.string("after")])
    }

    private static let unschedule = Operation(
        "messages.unschedule", .user, "Removes a scheduled message, and returns it.",
        [Parameter("id", .uuid, "The scheduled message.")],
        result: .scheduledMessage, errors: [.notFound]
    ) { session, params throws(ProtocolError) in
        try await session.change(
            Statement("api.unschedule_message", "select api.unschedule_message($1::uuid)"), [params.uuid("id")])
    }
}
