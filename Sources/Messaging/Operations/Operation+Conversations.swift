internal import Postgres

extension Operation {
    /// `conversations.*`.
    static let conversations = [
        Operation("conversations.open", .user, ["user_id"]) { session, params throws(ProtocolError) in
            try await session.write(
                Statement("api.open_conversation", "select api.open_conversation($1::uuid)"),
                [try params.required("user_id", params.uuid)])
        },
        Operation("conversations.get", .user, ["conversation_id"]) { session, params throws(ProtocolError) in
            try await session.read(
                Statement("api.conversation", "select api.conversation($1::uuid)"),
                [try params.required("conversation_id", params.uuid)])
        },
        Operation("conversations.list", .user, ["limit", "before"]) { session, params throws(ProtocolError) in
            let limit = try params.integer("limit", in: 1...100) ?? 50
            return try await session.read(
                Statement("api.conversations", "select api.conversations($1::int, $2)"),
                [String(limit), try params.string("before")])
        },
    ]
}
