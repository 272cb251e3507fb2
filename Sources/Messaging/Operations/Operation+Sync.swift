internal import NIOCore

extension Operation {
    /// The methods `sync.*`.
    static let sync = [open, close]

    private static let open = Operation(
        "sync.open", .user, "All that the user may see, or what of it has changed since a cursor.",
        [
            Parameter("cursor", .string(.any), .optional, "The last one that the client saw."),
            Parameter(
                "messages_per_conversation", .integer(0...100), .optional, default: .integer(20),
                "How many of the newest messages of each conversation are given at most."),
            Parameter("live", .bool, .optional, default: .bool(true), "Whether later changes are pushed."),
        ],
        result: .changes
    ) { session, params throws(ProtocolError) in
        let request = SyncRequest(
            cursor: params.string("cursor").flatMap { Cursor($0) },
            messagesPerConversation: params.integer("messages_per_conversation").map { Int($0) } ?? 0)
        // A request over HTTP gets no pushes.
        return try await session.openSync(request, live: params.bool("live") && session.sink.acceptsPushes)
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
