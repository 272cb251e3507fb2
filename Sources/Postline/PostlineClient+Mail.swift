/// Actions that are confirmed by mail. All need the server at once. All except ``requestEmailChange(to:password:)``
/// work while signed out, because the link of a mail may open an app without a session.
extension PostlineClient {
    private struct ConfirmedEmail: Decodable, Sendable {
        var email: String
    }

    /// Requests a mail with a token to reset the password of the account with this address. The result does not reveal
    /// if there is such an account.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_trusted`, `rate_limited`, `invalid_params`; `forbidden` if the
    ///   server sends no mail.
    public func requestPasswordReset(email: String) async throws(PostlineError) {
        try await withUnauthenticatedConnection { connection in
            let _: EmptyResult = try await connection.call(
                "auth.request_password_reset", ["email": JSONValue.email(email)])
        }
    }

    /// Sets the password by the token of a mail and ends all sessions of the account, including this device's. It does
    /// not sign in: call ``signIn(email:password:)`` next, which merges a guest.
    ///
    /// - Parameters:
    ///   - token: The mail's token. It is valid once, for an hour.
    ///   - password: 8 to 72 bytes.
    /// - Throws: ``PostlineError``: `invalid_token`, `invalid_params`, `offline`, `not_trusted`, `rate_limited`;
    ///   `forbidden` if the server sends no mail.
    public func resetPassword(token: String, to password: String) async throws(PostlineError) {
        try await withUnauthenticatedConnection { connection in
            let _: EmptyResult = try await connection.call(
                "auth.reset_password", ["token": token, "password": password])
            // The reset opened a session that is not used. It expires if this call is lost.
            let _: EmptyResult? = try? await connection.call("auth.logout", [String: String]())
        }
    }

    /// Requests a mail with a token to the new address. The old address stays until ``confirmEmail(token:)``. For the
    /// account's own address, the mail confirms it if it is not confirmed yet.
    ///
    /// - Throws: ``PostlineError``: `invalid_credentials` if the password is wrong, `invalid_params`, `offline`,
    ///   `rate_limited`; `forbidden` if the account has no password, or the server sends no mail.
    public func requestEmailChange(to email: String, password: String) async throws(PostlineError) {
        _ = try await call(
            "auth.request_email_change", ["email": .email(email), "password": .string(password)], as: EmptyResult.self)
    }

    /// Confirms the account's address, or changes it to the new one, by the token of a mail. ``me`` shows the change
    /// once it has arrived.
    ///
    /// - Returns: The confirmed address.
    /// - Throws: ``PostlineError``: `invalid_token`; `email_taken` if another account has the address by now;
    ///   `offline`, `not_trusted`, `rate_limited`; `forbidden` if the server sends no mail.
    @discardableResult
    public func confirmEmail(token: String) async throws(PostlineError) -> String {
        try await withUnauthenticatedConnection { connection in
            let confirmed: ConfirmedEmail = try await connection.call("auth.confirm_email", ["token": token])
            return confirmed.email
        }
    }

    /// Runs a body with a separate connection that is not signed in.
    private func withUnauthenticatedConnection<Value: Sendable>(
        _ body: @Sendable (LineConnection) async throws -> Value
    ) async throws(PostlineError) -> Value {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        return try await convertingErrors { try await body(connection) }
    }
}
