/// Blocks of other users.
extension PostlineClient {
    /// Blocks a user: neither of the two can write to the other, or see the other's presence. Groups that both are in
    /// go on.
    ///
    /// - Returns: The users whom the user blocks, the first one first.
    /// - Throws: ``PostlineError``: `not_found`, `forbidden` with 1,000 blocked users, `rate_limited`, `offline`,
    ///   `signed_out`.
    @discardableResult
    public func block(_ userID: User.ID) async throws(PostlineError) -> [User.ID] {
        try await blockedUsers("users.block", ["user_id": .string(userID.rawValue)])
    }

    /// Ends the block of a user. Does nothing if the user is not blocked.
    ///
    /// - Returns: The users whom the user still blocks, the first one first.
    /// - Throws: ``PostlineError``: `rate_limited`, `offline`, `signed_out`.
    @discardableResult
    public func unblock(_ userID: User.ID) async throws(PostlineError) -> [User.ID] {
        try await blockedUsers("users.unblock", ["user_id": .string(userID.rawValue)])
    }

    /// Returns the users whom the user blocks, the first one first.
    ///
    /// - Throws: ``PostlineError``: `offline`, `signed_out`.
    public func blockedUserIDs() async throws(PostlineError) -> [User.ID] {
        try await blockedUsers("users.blocked", [:])
    }

    private func blockedUsers(
        _ method: String, _ params: [String: JSONValue]
    ) async throws(PostlineError) -> [User.ID] {
        try await currentEngine().call(method, params, as: BlockedUsers.self).userIDs
    }
}

/// The answer of the methods `users.*`.
private struct BlockedUsers: Decodable, Sendable {
    let userIDs: [User.ID]

    enum CodingKeys: String, CodingKey {
        case userIDs = "user_ids"
    }
}
