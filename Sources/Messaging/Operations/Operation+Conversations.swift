internal import Postgres

extension Operation {
    /// `conversations.*`.
    static let conversations = [
        Operation("conversations.open", .user, ["user_id", "profiles"]) { session, params throws(ProtocolError) in
            try await session.change(
                Statement("api.open_conversation", "select api.open_conversation($1::uuid, $2::boolean)"),
                [try params.required("user_id", params.uuid), try params.withProfiles()])
        },
        Operation("conversations.get", .user, ["conversation_id", "profiles"]) {
            session, params throws(ProtocolError) in
            try await session.read(
                Statement("api.conversation", "select api.conversation($1::uuid, $2::boolean)"),
                [try params.required("conversation_id", params.uuid), try params.withProfiles()])
        },
        Operation("conversations.list", .user, ["limit", "before"]) { session, params throws(ProtocolError) in
            let limit = try params.integer("limit", in: 1...100) ?? 50
            return try await session.read(
                Statement("api.conversations", "select api.conversations($1::int, $2)"),
                [String(limit), try params.string("before")])
        },
        Operation("conversations.create_group", .user, ["title", "member_ids", "profiles"]) {
            session, params throws(ProtocolError) in
            let title = try params.requiredString("title")
            let members = try params.required("member_ids") { name throws(ProtocolError) in
                try params.uuids(name, count: 1...255)
            }
            return try await session.change(
                Statement("api.create_group", "select api.create_group($1, $2::uuid[], $3::boolean)"),
                [title, members, try params.withProfiles()])
        },
        Operation("conversations.update", .user, ["conversation_id", "title", "profiles"]) {
            session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            let title = try params.requiredString("title")
            return try await session.change(
                Statement("api.update_conversation", "select api.update_conversation($1::uuid, $2, $3::boolean)"),
                [conversation, title, try params.withProfiles()])
        },
        Operation("conversations.add_members", .user, ["conversation_id", "user_ids", "profiles"]) {
            session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            let users = try params.required("user_ids") { name throws(ProtocolError) in
                try params.uuids(name, count: 1...255)
            }
            return try await session.change(
                Statement("api.add_members", "select api.add_members($1::uuid, $2::uuid[], $3::boolean)"),
                [conversation, users, try params.withProfiles()])
        },
        Operation("conversations.remove_member", .user, ["conversation_id", "user_id"]) {
            session, params throws(ProtocolError) in
            try await session.change(
                Statement("api.remove_member", "select api.remove_member($1::uuid, $2::uuid)"),
                [try params.required("conversation_id", params.uuid), try params.required("user_id", params.uuid)])
        },
        Operation("conversations.set_role", .user, ["conversation_id", "user_id", "role", "profiles"]) {
            session, params throws(ProtocolError) in
            let conversation = try params.required("conversation_id", params.uuid)
            let user = try params.required("user_id", params.uuid)
            let role = try params.requiredString("role")
            guard ["owner", "admin", "member"].contains(role) else {
                throw .invalid("role", "must be owner, admin or member")
            }
            return try await session.change(
                Statement("api.set_member_role", "select api.set_member_role($1::uuid, $2::uuid, $3, $4::boolean)"),
                [conversation, user, role, try params.withProfiles()])
        },
    ]
}

extension Params {
    /// Whether the profiles of the conversation's members are to come with it, as PostgreSQL reads it.
    fileprivate func withProfiles() throws(ProtocolError) -> String {
        String(try bool("profiles") ?? false)
    }
}
