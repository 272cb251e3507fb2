internal import Postgres

extension Operation {
    /// `messages.*`.
    static let messages = [
        Operation("messages.send", .user, ["conversation_id", "content", "client_id", "kind", "attachment"]) {
            session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            let kind = try params.string("kind") ?? "text"
            guard kind == "text" || kind == "image" else { throw .invalid("kind", "must be text or image") }
            // An image speaks for itself: its content may be empty.
            let content = try params.string("content", characters: (kind == "image" ? 0 : 1)...8_000)
            guard content != nil || kind == "image" else { throw .invalid("content", "is missing") }
            try await session.limits.takeSend(of: session.token.user)
            let message: [String?] = [
                conversation, content ?? "", try params.uuid("client_id"), kind, try params.object("attachment"),
            ]
            do throws(ProtocolError) {
                return try await session.write(
                    Statement("api.send_message", "select api.send_message($1::uuid, $2, $3::uuid, $4, $5::jsonb)"),
                    message)
            } catch {
                guard error.code == .clientIDReused else { throw error }
                // Sent before, as it seems. What became of it is the answer, if the same was sent.
                return try await session.read(
                    Statement("api.sent_message", "select api.sent_message($1::uuid, $2, $3::uuid, $4, $5::jsonb)"),
                    message)
            }
        },
        Operation("messages.list", .user, ["conversation_id", "before_seq", "after_seq", "limit"]) {
            session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            let before = try params.integer("before_seq", in: 1 ... .max)
            let after = try params.integer("after_seq", in: 0 ... .max)
            guard before == nil || after == nil else {
                throw .invalid("after_seq", "cannot be given together with \"before_seq\"")
            }
            let limit = try params.integer("limit", in: 1...200) ?? 50
            return try await session.read(
                Statement("api.messages", "select api.messages($1::uuid, $2::bigint, $3::bigint, $4::int)"),
                [conversation, before.map(String.init), after.map(String.init), String(limit)])
        },
        Operation("messages.edit", .user, ["conversation_id", "seq", "content"]) {
            session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            let seq = try params.requiredSeq(from: 1)
            // An image's may be empty, which the database knows.
            let content = try params.required("content") { name throws(ProtocolError) in
                try params.string(name, characters: 0...8_000)
            }
            return try await session.change(
                Statement("api.edit_message", "select api.edit_message($1::uuid, $2::bigint, $3)"),
                [conversation, seq, content])
        },
        Operation("messages.delete", .user, ["conversation_id", "seq"]) { session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            return try await session.change(
                Statement("api.delete_message", "select api.delete_message($1::uuid, $2::bigint)"),
                [conversation, try params.requiredSeq(from: 1)])
        },
        Operation("messages.mark_read", .user, ["conversation_id", "seq"]) { session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            return try await session.change(
                Statement("api.mark_read", "select api.mark_read($1::uuid, $2::bigint)"),
                [conversation, try params.requiredSeq(from: 0)])
        },
    ]
}

extension Params {
    /// The number of a message, as PostgreSQL reads it.
    fileprivate func requiredSeq(from least: Int64) throws(ProtocolError) -> String {
        String(try required("seq") { name throws(ProtocolError) in try integer(name, in: least ... .max) })
    }
}
