/// Calls that need the server at once. Without a connection they throw `offline`, and are not queued.
extension PostlineClient {
    private struct ProfileList: Decodable, Sendable {
        var profiles: [User]
    }

    private struct AvatarList: Decodable, Sendable {
        var avatars: [BuiltInAvatar]
    }

    /// Returns an access token for the app's own HTTP requests as this user. Renews it first if it is about to expire,
    /// so call this before each request.
    ///
    /// - Throws: ``PostlineError``: `signed_out`; `offline` if the token must be renewed and there is no connection;
    ///   `session_revoked`, `invalid_token` if the session has ended.
    public func accessToken() async throws(PostlineError) -> AccessToken {
        let engine = try currentEngine()
        return try await convertingErrors { try await engine.accessToken() }
    }

    /// Returns users by name or username, the best match first. Guests, deleted users and the user itself are not
    /// found.
    ///
    /// - Parameters:
    ///   - query: 2 to 50 characters.
    ///   - limit: 1 to 50 users.
    /// - Throws: ``PostlineError``: `offline`, `invalid_params`, `rate_limited`.
    public func searchProfiles(_ query: String, limit: Int = 20) async throws(PostlineError) -> [User] {
        try await call("profiles.search", ["query": .string(query), "limit": .integer(limit)], as: ProfileList.self)
            .profiles
    }

    /// Returns the profiles of 1 to 100 users, without those that do not exist.
    ///
    /// - Throws: ``PostlineError``: `offline`, `invalid_params`.
    public func profiles(withIDs ids: [User.ID]) async throws(PostlineError) -> [User] {
        try await call("profiles.get", ["ids": .array(ids.map { .id($0) })], as: ProfileList.self).profiles
    }

    /// Returns the server's built-in avatars.
    ///
    /// - Throws: ``PostlineError``: `offline`.
    public func builtInAvatars() async throws(PostlineError) -> [BuiltInAvatar] {
        try await call("avatars.list", as: AvatarList.self).avatars
    }

    /// Returns the id of the direct conversation with a user, and creates it if there is none.
    ///
    /// - Throws: ``PostlineError``: `offline`; `not_found` if the user does not exist; `invalid_params` for the user
    ///   itself.
    public func openConversation(with userID: User.ID) async throws(PostlineError) -> Conversation.ID {
        try await conversation("conversations.open", ["user_id": .id(userID)])
    }

    /// Creates a group of this user and others, and returns its id.
    ///
    /// - Parameters:
    ///   - title: 1 to 100 characters.
    ///   - userIDs: 1 to 255 other users.
    ///   - data: The app's own data, at most 4 KiB as JSON.
    /// - Throws: ``PostlineError``: `offline`, `not_found`, `invalid_params`.
    public func createGroup(
        _ title: String, with userIDs: [User.ID], data: [String: JSONValue]? = nil
    ) async throws(PostlineError) -> Conversation.ID {
        var params: [String: JSONValue] = ["title": .string(title), "member_ids": .array(userIDs.map { .id($0) })]
        if let data { params["data"] = .object(data) }
        return try await conversation("conversations.create_group", params)
    }

    /// Replaces the app's own data of a conversation (``Conversation/data``), or removes it. Both members of a direct
    /// conversation may, and the owner and admins of a group. It has at most 4 KiB as JSON.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func setData(
        _ data: [String: JSONValue]?, of conversationID: Conversation.ID
    ) async throws(PostlineError) {
        _ = try await conversation(
            "conversations.update",
            ["conversation_id": .id(conversationID), "data": data.map { .object($0) } ?? .null])
    }

    /// Sets after what time messages of a conversation expire (``Conversation/messageTTL``): a minute to a year in whole
    /// seconds, or nil to keep them. Messages that are older are deleted too, for all members, which cannot be undone:
    /// ask the user first. Both members of a direct conversation may, and the owner and admins of a group.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func setMessageTTL(
        _ ttl: Duration?, of conversationID: Conversation.ID
    ) async throws(PostlineError) {
        _ = try await conversation(
            "conversations.update",
            [
                "conversation_id": .id(conversationID),
                "message_ttl_seconds": ttl.map { .integer(Int($0.components.seconds)) } ?? .null,
            ])
    }

    /// Renames a group. Only its owner and admins may. A title has 1 to 100 characters.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func renameGroup(_ conversationID: Conversation.ID, to title: String) async throws(PostlineError) {
        _ = try await conversation(
            "conversations.update", ["conversation_id": .id(conversationID), "title": .string(title)])
    }

    /// Adds users to a group. Only its owner and admins may. A group has at most 256 members.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func addMembers(_ userIDs: [User.ID], to conversationID: Conversation.ID) async throws(PostlineError) {
        _ = try await conversation(
            "conversations.add_members",
            ["conversation_id": .id(conversationID), "user_ids": .array(userIDs.map { .id($0) })])
    }

    /// Changes the role of a group's member. Only the owner may. The role `owner` transfers the group.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func setRole(_ role: MemberRole, of userID: User.ID, in conversationID: Conversation.ID)
        async throws(PostlineError)
    {
        _ = try await conversation(
            "conversations.set_role",
            [
                "conversation_id": .id(conversationID), "user_id": .id(userID), "role": .string(role.rawValue),
            ])
    }

    /// Removes a member from a group. Only its owner and admins may. For the user itself it calls ``leaveGroup(_:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func removeMember(_ userID: User.ID, from conversationID: Conversation.ID) async throws(PostlineError) {
        if userID == me?.id { return try await leaveGroup(conversationID) }
        _ = try await conversation(
            "conversations.remove_member",
            ["conversation_id": .id(conversationID), "user_id": .id(userID)], withProfiles: false)
    }

    /// Leaves a group and removes it from this device. If the owner leaves, the oldest admin becomes the owner, or else
    /// the oldest member.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `signed_out`.
    public func leaveGroup(_ conversationID: Conversation.ID) async throws(PostlineError) {
        let engine = try currentEngine()
        _ = try await engine.call(
            "conversations.remove_member",
            ["conversation_id": JSONValue.id(conversationID), "user_id": .id(engine.store.userID)],
            as: EmptyResult.self)
        var changes = Changes()
        changes.left = [conversationID]
        try await apply(changes, from: engine)
    }

    private struct RevokedSessions: Decodable, Sendable {
        var revoked: Int
    }

    /// Changes the password and ends all other sessions of the user. A password has 8 to 72 bytes.
    ///
    /// - Returns: The number of sessions that ended.
    /// - Throws: ``PostlineError``: `offline`, `invalid_credentials`, `invalid_params`, `rate_limited`.
    @discardableResult
    public func changePassword(from current: String, to new: String) async throws(PostlineError) -> Int {
        try await call(
            "auth.change_password", ["current_password": .string(current), "new_password": .string(new)],
            as: RevokedSessions.self
        ).revoked
    }

    /// Deletes the account permanently, and all its data on this device.
    ///
    /// - Parameter password: The account's password, or nil for a guest.
    /// - Throws: ``PostlineError``: `offline`, `invalid_credentials`, `rate_limited`. If the response was lost and the
    ///   account is deleted, the server ends the session, and the client signs out.
    public func deleteAccount(password: String?) async throws(PostlineError) {
        let engine = try currentEngine()
        // If the response is lost, the end of the session confirms the deletion.
        try await write { try $0.setDeletionPending(true) }
        do {
            _ = try await engine.call(
                "me.delete", password.map { ["password": JSONValue.string($0)] } ?? [:], as: EmptyResult.self)
        } catch  where !error.isUncertain {
            try? await engine.store.write { try $0.setDeletionPending(false) }
            throw error
        }
        try await signOut(erasing: true)
    }

    /// Calls a method that returns a conversation, stores the conversation, and returns its id.
    func conversation(
        _ method: String, _ params: [String: JSONValue], withProfiles: Bool = true
    ) async throws(PostlineError) -> Conversation.ID {
        var params = params
        if withProfiles { params["profiles"] = true }
        let engine = try currentEngine()
        let answer = try await engine.call(method, params, as: WireConversation.self)
        var changes = Changes()
        changes.conversations = [answer]
        try await apply(changes, from: engine)
        return answer.id
    }

    /// A result without members that the client reads.
    struct EmptyResult: Decodable, Sendable {}

    /// Calls a method of the protocol on the current connection.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: [String: JSONValue] = [:], as type: Answer.Type = Answer.self
    ) async throws(PostlineError) -> Answer {
        try await currentEngine().call(method, params)
    }

    /// Stores the objects of a response in the store of the engine that made the request.
    func apply(_ changes: Changes, from engine: SyncEngine) async throws(PostlineError) {
        try await convertingErrors { try await engine.apply(changes) }
        await reload()
    }
}
