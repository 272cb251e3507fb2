import ChangeFeed
import NIOCore
import WireProtocol

extension Operation {
    /// The methods `sync.*`.
    static let sync = [open, acknowledge, close]

    private static let open = Operation(
        "sync.open", .user, "Returns all that the user may see, or the changes since a cursor, and starts the pushes.",
        [
            Parameter("cursor", .string(.any), .optional, "The last cursor that the client has seen."),
            Parameter(
                "messages_per_conversation", .integer(0...100), .optional, default: .integer(20),
                "The most messages of each conversation."),
            Parameter("live", .bool, .optional, default: .bool(true), "True to get later changes as pushes."),
        ],
        result: .changes
    ) { session, params throws(ProtocolError) in
        let request = SyncRequest(
            cursor: params.string("cursor").flatMap { Cursor($0) },
            messagesPerConversation: params.integer("messages_per_conversation").map { Int($0) } ?? 0)
        // A request over HTTP gets no pushes.
        return try await session.openSync(request, live: params.bool("live") && session.sink.acceptsPushes)
    }

    private static let acknowledge = Operation(
        "sync.ack", .user, "Says that the client has received everything up to a cursor, so that others are told.",
        [Parameter("cursor", .string(.any), "The last cursor that the client has received.")], result: .object([])
    ) { session, params throws(ProtocolError) in
        // A cursor that cannot be continued, such as one of another database, acknowledges nothing.
        if let cursor = params.string("cursor").flatMap({ Cursor($0) }) { await session.acknowledge(cursor) }
        return Answer(.object(JSONObject([])))
    }

    private static let close = Operation("sync.close", .user, "Ends the pushes.", result: .object([])) {
        session, _ throws(ProtocolError) in
        await session.endSync()
        return Answer(.object(JSONObject([])))
    }
}

extension Answer.Content {
    /// Returns the object as a result.
    static func object(_ object: JSONObject) -> Answer.Content {
        var buffer = ByteBuffer()
        JSON.object(object).write(to: &buffer)
        return .result(buffer)
    }
}
