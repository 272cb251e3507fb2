/// What whoever reads an address's mail may do. Each needs the server at once, and no account but for
/// ``requestEmailChange(to:password:)``: what a mail's link opens may be an app in which nobody is signed in.
extension PostlineClient {
    private struct ConfirmedEmail: Decodable, Sendable {
        var email: String
    }

    /// Has a mail sent by which the password of that address's account is set anew. Whether there is such an account is
    /// told nobody.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_trusted`, `rate_limited`, `invalid_params`; `forbidden` where the server
    ///   sends no mail.
    public func requestPasswordReset(email: String) async throws {
        try await withUnauthenticatedConnection { connection in
            let _: EmptyResult = try await connection.call("auth.request_password_reset", ["email": email])
        }
    }

    /// Sets the password by a mail's token, and ends every session of the account, this device's too. Nobody is signed in
    /// by it: ``signIn(email:password:)`` follows, and brings a guest along.
    ///
    /// - Parameters:
    ///   - token: the mail's. It is good once, for an hour.
    ///   - password: 8 to 72 bytes.
    /// - Throws: ``PostlineError``: `invalid_token`, `invalid_params`, `offline`, `not_trusted`, `rate_limited`;
    ///   `forbidden` where the server sends no mail.
    public func resetPassword(token: String, to password: String) async throws {
        try await withUnauthenticatedConnection { connection in
            let _: EmptyResult = try await connection.call(
                "auth.reset_password", ["token": token, "password": password])
            // It has opened a session, which nobody needs. Where this is not heard, it ends by itself.
            let _: EmptyResult? = try? await connection.call("auth.logout", [String: String]())
        }
    }

    /// Has a mail sent to the address that is to be the account's; until its token comes back, the old one holds. The
    /// account's own address is sent one where it is not confirmed yet.
    ///
    /// - Throws: ``PostlineError``: `invalid_credentials` where the password is wrong, `invalid_params`, `offline`,
    ///   `rate_limited`; `forbidden` for who has no password, and where the server sends no mail.
    public func requestEmailChange(to email: String, password: String) async throws {
        _ = try await call(
            "auth.request_email_change", ["email": .string(email), "password": .string(password)], as: EmptyResult.self)
    }

    /// Confirms an address by a mail's token: the account's own, or the one that it is to have, which is its own from then
    /// on. ``me`` shows it as soon as it is heard of. Returns the address.
    ///
    /// - Throws: ``PostlineError``: `invalid_token`; `email_taken` where somebody else has the address by now; `offline`,
    ///   `not_trusted`, `rate_limited`; `forbidden` where the server sends no mail.
    @discardableResult
    public func confirmEmail(token: String) async throws -> String {
        try await withUnauthenticatedConnection { connection in
            let confirmed: ConfirmedEmail = try await connection.call("auth.confirm_email", ["token": token])
            return confirmed.email
        }
    }

    /// On a connection of its own, on which nobody is signed in.
    private func withUnauthenticatedConnection<Value: Sendable>(
        _ body: @Sendable (LineConnection) async throws -> Value
    ) async throws -> Value {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        return try await body(connection)
    }
}
