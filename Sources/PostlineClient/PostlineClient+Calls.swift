/// What needs the server at once: without a connection it is `offline`, and nothing of it waits.
extension PostlineClient {
    private struct ProfileList: Decodable, Sendable {
        var profiles: [Profile]
    }

    private struct AvatarList: Decodable, Sendable {
        var avatars: [BuiltInAvatar]
    }

    /// People by their names or usernames, the best match first.
    public func search(_ query: String, limit: Int = 20) async throws -> [Profile] {
        try await call("profiles.search", ["query": .string(query), "limit": .integer(limit)], as: ProfileList.self)
            .profiles
    }

    /// The profiles of these users, at most a hundred; unknown ones are left out.
    public func profiles(_ ids: [String]) async throws -> [Profile] {
        try await call("profiles.get", ["ids": .array(ids.map(JSONValue.string))], as: ProfileList.self).profiles
    }

    /// The built-in avatars of this server.
    public func avatars() async throws -> [BuiltInAvatar] {
        try await call("avatars.list", as: AvatarList.self).avatars
    }

    /// The one direct conversation with a user, made where there was none. Returns its id.
    public func openConversation(with userID: String) async throws -> String {
        try await conversation("conversations.open", ["user_id": .string(userID)])
    }

    /// Makes a group of this user and others. Returns its id.
    public func createGroup(_ title: String, with userIDs: [String]) async throws -> String {
        try await conversation(
            "conversations.create_group",
            ["title": .string(title), "member_ids": .array(userIDs.map(JSONValue.string))])
    }

    /// Renames a group.
    public func rename(_ conversationID: String, to title: String) async throws {
        _ = try await conversation(
            "conversations.update", ["conversation_id": .string(conversationID), "title": .string(title)])
    }

    /// Adds people to a group.
    public func add(_ userIDs: [String], to conversationID: String) async throws {
        _ = try await conversation(
            "conversations.add_members",
            ["conversation_id": .string(conversationID), "user_ids": .array(userIDs.map(JSONValue.string))])
    }

    /// Gives a member of a group another role; `owner` hands the group over.
    public func setRole(_ role: MemberRole, of userID: String, in conversationID: String) async throws {
        _ = try await conversation(
            "conversations.set_role",
            [
                "conversation_id": .string(conversationID), "user_id": .string(userID), "role": .string(role.rawValue),
            ])
    }

    /// Takes somebody out of a group.
    public func remove(_ userID: String, from conversationID: String) async throws {
        if userID == me?.id { return try await leave(conversationID) }
        _ = try await conversation(
            "conversations.remove_member",
            ["conversation_id": .string(conversationID), "user_id": .string(userID)], withPeople: false)
    }

    /// Leaves a group: nothing of it stays here.
    public func leave(_ conversationID: String) async throws {
        guard let id = me?.id else { throw PostlineError(.signedOut, "Nobody is signed in.") }
        _ = try await call(
            "conversations.remove_member", ["conversation_id": .string(conversationID), "user_id": .string(id)],
            as: Nothing.self)
        var changes = Changes()
        changes.left = [conversationID]
        try await keep(changes)
    }

    /// Sets another password; every other session of the user ends.
    public func changePassword(from current: String, to new: String) async throws {
        _ = try await call(
            "auth.change_password", ["current_password": .string(current), "new_password": .string(new)],
            as: Nothing.self)
    }

    /// Deletes the account for good, and all that this device has of it.
    ///
    /// - Parameter password: nil for a guest, who has none.
    public func deleteAccount(password: String?) async throws {
        _ = try await call("me.delete", password.map { ["password": .string($0)] } ?? [:], as: Nothing.self)
        try await signOut(erasing: true)
    }

    /// Does what is answered with a conversation, and takes it into the store.
    private func conversation(
        _ method: String, _ params: [String: JSONValue], withPeople: Bool = true
    ) async throws -> String {
        var params = params
        if withPeople { params["profiles"] = true }
        let answer = try await call(method, params, as: WireConversation.self)
        var changes = Changes()
        changes.conversations = [answer]
        try await keep(changes)
        return answer.id
    }

    /// An answer that says nothing more than that it is done.
    struct Nothing: Decodable, Sendable {}

    /// Calls a method of the protocol, with a connection or not at all.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: [String: JSONValue] = [:], as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await currentEngine().call(method, params)
    }

    /// The same for an answer that belongs to the store.
    func keep(_ changes: Changes) async throws {
        try await currentEngine().keep(changes)
        await refresh()
    }
}
