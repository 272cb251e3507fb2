/// Blocks of other users.
extension PostlineClient {
    /// Blocks a user: neither of the two can write to the other, or see the other's presence. Groups that both are in
    /// go on, and the user's messages there are marked (``Message/isBlocked``). Does nothing if the user is blocked.
    ///
    /// When it returns, ``blockedUserIDs`` has the user, unless the connection was lost meanwhile.
    ///
    /// - Throws: ``PostlineError``: `not_found`, `forbidden` with 1,000 blocked users, `rate_limited`, `offline`,
    ///   `signed_out`.
    public func block(_ userID: User.ID) async throws(PostlineError) {
        try await setBlock(of: userID, by: "users.block")
    }

    /// Ends the block of a user, whose messages are shown again. Does nothing if the user is not blocked.
    ///
    /// - Throws: ``PostlineError``: `rate_limited`, `offline`, `signed_out`.
    public func unblock(_ userID: User.ID) async throws(PostlineError) {
        try await setBlock(of: userID, by: "users.unblock")
    }

    private func setBlock(of userID: User.ID, by method: String) async throws(PostlineError) {
        let engine = try currentEngine()
        _ = try await engine.call(method, ["user_id": userID.rawValue], as: JSONValue.self)
        // The answer has the list too, but a later change by another device may have come before it.
        if await engine.refresh() { await reload() }
    }
}
