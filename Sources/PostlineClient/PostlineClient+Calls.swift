/// What needs the server at once: without a connection it is `offline`, and nothing of it waits.
extension PostlineClient {
    private struct ProfileList: Decodable, Sendable {
        var profiles: [Profile]
    }

    private struct AvatarList: Decodable, Sendable {
        var avatars: [BuiltInAvatar]
    }

    /// Fetches what has changed at the server, as for pull-to-refresh. All of it is in the store, and shown, when this
    /// returns. While ``state`` is live changes come by themselves, and nothing needs to call this.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_trusted`, `signed_out`.
    public func refresh() async throws {
        connectSignal.signal()
        let engine = try currentEngine()
        guard await engine.refresh() else {
            let store = try currentStore()
            guard store === engine.store, let connectionError else {
                throw PostlineError(.offline, "There is no connection to the server.", isRetryable: true)
            }
            throw connectionError
        }
        await reload()
    }

    /// Returns an access token for the app's own HTTP requests as this user. A token that is about to expire is renewed
    /// first: ask for it before each request.
    ///
    /// - Throws: ``PostlineError``: `signed_out`; `offline` if the token must be renewed and there is no connection;
    ///   `session_revoked`, `invalid_token` if the session is over.
    public func accessToken() async throws -> AccessToken { try await currentEngine().accessToken() }

    /// People by their names or usernames, the best match first; never guests, the deleted, or the user itself.
    ///
    /// - Parameters:
    ///   - query: 2 to 50 characters.
    ///   - limit: 1 to 50 people.
    /// - Throws: ``PostlineError``: `offline`, `invalid_params`, `rate_limited`.
    public func searchProfiles(_ query: String, limit: Int = 20) async throws -> [Profile] {
        try await call("profiles.search", ["query": .string(query), "limit": .integer(limit)], as: ProfileList.self)
            .profiles
    }

    /// The profiles of these users, 1 to 100; unknown ones are left out.
    ///
    /// - Throws: ``PostlineError``: `offline`, `invalid_params`.
    public func profiles(withIDs ids: [String]) async throws -> [Profile] {
        try await call("profiles.get", ["ids": .array(ids.map(JSONValue.string))], as: ProfileList.self).profiles
    }

    /// The built-in avatars of this server.
    ///
    /// - Throws: ``PostlineError``: `offline`.
    public func builtInAvatars() async throws -> [BuiltInAvatar] {
        try await call("avatars.list", as: AvatarList.self).avatars
    }

    /// The one direct conversation with a user, made where there was none. Returns its id.
    ///
    /// - Throws: ``PostlineError``: `offline`; `not_found` where there is no such user; `invalid_params` for oneself.
    public func openConversation(with userID: String) async throws -> String {
        try await conversation("conversations.open", ["user_id": .string(userID)])
    }

    /// Makes a group of this user and others. Returns its id.
    ///
    /// - Parameters:
    ///   - title: 1 to 100 characters.
    ///   - userIDs: 1 to 255 others.
    /// - Throws: ``PostlineError``: `offline`, `not_found`, `invalid_params`.
    public func createGroup(_ title: String, with userIDs: [String]) async throws -> String {
        try await conversation(
            "conversations.create_group",
            ["title": .string(title), "member_ids": .array(userIDs.map(JSONValue.string))])
    }

    /// Renames a group, for its owner and admins. A title has 1 to 100 characters.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func renameGroup(_ conversationID: String, to title: String) async throws {
        _ = try await conversation(
            "conversations.update", ["conversation_id": .string(conversationID), "title": .string(title)])
    }

    /// Adds people to a group, for its owner and admins. A group has 256 members at most.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func addMembers(_ userIDs: [String], to conversationID: String) async throws {
        _ = try await conversation(
            "conversations.add_members",
            ["conversation_id": .string(conversationID), "user_ids": .array(userIDs.map(JSONValue.string))])
    }

    /// Gives a member of a group another role, for its owner; `owner` hands the group over.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func setRole(_ role: MemberRole, of userID: String, in conversationID: String) async throws {
        _ = try await conversation(
            "conversations.set_role",
            [
                "conversation_id": .string(conversationID), "user_id": .string(userID), "role": .string(role.rawValue),
            ])
    }

    /// Takes somebody out of a group, for its owner and admins; for oneself it is ``leaveGroup(_:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func removeMember(_ userID: String, from conversationID: String) async throws {
        if userID == me?.id { return try await leaveGroup(conversationID) }
        _ = try await conversation(
            "conversations.remove_member",
            ["conversation_id": .string(conversationID), "user_id": .string(userID)], withPeople: false)
    }

    /// Leaves a group: nothing of it stays here. Where the owner leaves, the oldest admin follows, else the oldest member.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `signed_out`.
    public func leaveGroup(_ conversationID: String) async throws {
        let engine = try currentEngine()
        _ = try await engine.call(
            "conversations.remove_member",
            ["conversation_id": JSONValue.string(conversationID), "user_id": .string(engine.store.userID)],
            as: EmptyResult.self)
        var changes = Changes()
        changes.left = [conversationID]
        try await apply(changes, from: engine)
    }

    private struct Revoked: Decodable, Sendable {
        var revoked: Int
    }

    /// Sets another password, of 8 to 72 bytes; every other session of the user ends. Returns how many these were.
    ///
    /// - Throws: ``PostlineError``: `offline`, `invalid_credentials`, `invalid_params`, `rate_limited`.
    @discardableResult
    public func changePassword(from current: String, to new: String) async throws -> Int {
        try await call(
            "auth.change_password", ["current_password": .string(current), "new_password": .string(new)],
            as: Revoked.self
        ).revoked
    }

    /// Deletes the account for good, and all that this device has of it.
    ///
    /// - Parameter password: nil for a guest, who has none.
    /// - Throws: ``PostlineError``: `offline`, and where the account is deleted nevertheless, nobody is signed in soon;
    ///   `invalid_credentials`, `rate_limited`.
    public func deleteAccount(password: String?) async throws {
        let engine = try currentEngine()
        // Where the answer is lost, the end of the session is one.
        try await write { try $0.setDeletionPending(true) }
        do {
            _ = try await engine.call(
                "me.delete", password.map { ["password": JSONValue.string($0)] } ?? [:], as: EmptyResult.self)
        } catch let error as PostlineError where error.code != .offline {
            try? await engine.store.write { try $0.setDeletionPending(false) }
            throw error
        }
        try await signOut(erasing: true)
    }

    /// Does what is answered with a conversation, and takes it into the store.
    func conversation(
        _ method: String, _ params: [String: JSONValue], withPeople: Bool = true
    ) async throws -> String {
        var params = params
        if withPeople { params["profiles"] = true }
        let engine = try currentEngine()
        let answer = try await engine.call(method, params, as: WireConversation.self)
        var changes = Changes()
        changes.conversations = [answer]
        try await apply(changes, from: engine)
        return answer.id
    }

    /// An answer that says nothing more than that it is done.
    struct EmptyResult: Decodable, Sendable {}

    /// Calls a method of the protocol, with a connection or not at all.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: [String: JSONValue] = [:], as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await currentEngine().call(method, params)
    }

    /// Takes an answer into the store of whom it was given to.
    func apply(_ changes: Changes, from engine: SyncEngine) async throws {
        try await engine.apply(changes)
        await reload()
    }
}
