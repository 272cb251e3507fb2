internal import NIOCore

extension Operation {
    /// `sync.*`: what has changed, and what changes from now on.
    static let sync = [
        Operation("sync.open", .user, ["cursor", "messages_per_conversation", "live"]) {
            session, params throws(ProtocolError) in
            let request = SyncRequest(
                cursor: try params.string("cursor").flatMap { Cursor($0) },
                messagesPerConversation: Int(try params.integer("messages_per_conversation", in: 0...100) ?? 20))
            let takesPushes = session.sink.takesPushes
            let live = try params.bool("live") ?? takesPushes
            if live, !takesPushes {
                throw .invalid("live", "needs a connection that stays: a line, a WebSocket, or /v1/changes")
            }
            return try await session.openSync(request, live: live)
        },
        Operation("sync.close") { session, _ throws(ProtocolError) in
            await session.endSync()
            return Answer(.object(JSONObject([])))
        },
    ]
}

extension Answer.Content {
    /// A result that was made here, not by the database.
    static func object(_ object: JSONObject) -> Answer.Content {
        var buffer = ByteBuffer()
        JSON.object(object).write(to: &buffer)
        return .result(buffer)
    }
}
