internal import NIOCore
internal import Postgres

/// What a mail proves of an account.
extension Accounts {
    /// - Throws: `forbidden` where this server sends no mail.
    func requireMail() throws(ProtocolError) {
        try requireBuiltin()
        guard mail != nil else {
            throw ProtocolError(.forbidden, "This server sends no mail: its operator turns that on by POSTLINE_MAIL_….")
        }
    }

    /// Has a mail sent by which the password of that address's account is set anew. Whether there is one, the sender
    /// alone looks.
    ///
    /// - Throws: `rate_limited` where too many were asked for, of whoever's address.
    func requestPasswordReset(email: String) async throws(ProtocolError) {
        _ = try await database.rows(Functions.requestPasswordReset, [email, mailsPerHour], as: .accounts)
    }

    /// Whose password that token may set.
    ///
    /// - Throws: `invalid_token` where it is not good.
    func account(ofResetToken token: String) async throws(ProtocolError) -> ID {
        let rows = try await database.rows(Functions.resettable, [MailToken.hash(of: token)], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.resettable_account returned no id") }
        return user
    }

    /// Sets the password of the token's account, and ends all its sessions.
    ///
    /// - Throws: `invalid_token` where the token is not good, or not any more.
    func resetPassword(token: String, password: String) async throws(ProtocolError) -> AccountHolder {
        let hash = try await hashed(password)
        let rows = try await database.rows(Functions.resetPassword, [MailToken.hash(of: token), hash], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.reset_password returned no id") }
        return AccountHolder(user: user, passwordHash: hash)
    }

    /// Has a mail sent to the address that is to be the account's.
    ///
    /// - Throws: `invalid_credentials` where the password is wrong; `forbidden` for an account without one.
    func requestEmailChange(of user: ID, to email: String, password: String) async throws(ProtocolError) {
        guard let stored = try await verifiedHash(ofPassworded: user, password: password) else {
            throw ProtocolError(.forbidden, "This account has no password, by which its address would be changed.")
        }
        _ = try await database.rows(
            Functions.requestEmailChange, [user.description, stored, email, mailsPerHour], as: .accounts)
    }

    /// Takes the proof of an address.
    ///
    /// - Returns: `{"email"}`.
    /// - Throws: `invalid_token`, or `email_taken` where somebody else has the address by now.
    func confirmEmail(token: String) async throws(ProtocolError) -> ByteBuffer {
        try await database.json(Functions.confirmEmail, [MailToken.hash(of: token)], as: .accounts)
    }

    /// - Throws: `email_unconfirmed` where this server wants the account's address confirmed first, and it is not.
    func requireConfirmedEmail(of user: ID) async throws(ProtocolError) {
        guard let mail, mail.signInNeedsConfirmedEmail else { return }
        let rows = try await database.rows(
            Functions.awaitConfirmation, [user.description, mailsPerHour], as: .accounts)
        guard rows.text(0, 0) == "t" else {
            throw ProtocolError(
                .emailUnconfirmed, "Confirm your email address first, by the mail that was sent to it; then sign in.")
        }
    }

    private enum Functions {
        static let requestPasswordReset = Statement(
            "accounts.request_password_reset", "select accounts.request_password_reset($1, $2::int)")
        static let resettable = Statement(
            "accounts.resettable_account", "select accounts.resettable_account($1)")
        static let resetPassword = Statement("accounts.reset_password", "select accounts.reset_password($1, $2)")
        static let requestEmailChange = Statement(
            "accounts.request_email_change", "select accounts.request_email_change($1::uuid, $2, $3, $4::int)")
        static let confirmEmail = Statement("accounts.confirm_email", "select accounts.confirm_email($1)")
        static let awaitConfirmation = Statement(
            "accounts.await_confirmation", "select accounts.await_confirmation($1::uuid, $2::int)")
    }
}
