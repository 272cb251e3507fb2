import DatabaseAccess
package import Foundations
package import NIOCore
import Postgres
package import WireProtocol

/// Password reset and email confirmation by mailed tokens.
extension Accounts {
    /// - Throws: `forbidden` if this server sends no mail.
    package func requireMail() throws(ProtocolError) {
        try requireBuiltin()
        guard mail != nil else {
            throw ProtocolError(
                .forbidden, "This server sends no mail: its operator can enable it with POSTLINE_MAIL_….")
        }
    }

    /// Queues a password reset mail. The mailer looks up the account, so that the duration does not show whether one
    /// exists.
    ///
    /// - Throws: `rate_limited` if too many were requested for the address, whether it has an account or not.
    package func requestPasswordReset(email: String) async throws(ProtocolError) {
        _ = try await database.rows(Functions.requestPasswordReset, [email, mailsPerHour], as: .accounts)
    }

    /// Returns the user whose password a reset token may set.
    ///
    /// - Throws: `invalid_token` if the token is not valid.
    package func account(ofResetToken token: String) async throws(ProtocolError) -> ID {
        let rows = try await database.rows(Functions.resettableAccount, [MailToken.hash(of: token)], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.resettable_account returned no id") }
        return user
    }

    /// Sets the password of the token's account and ends all its sessions.
    ///
    /// - Throws: `invalid_token` if the token is not valid or was used.
    package func resetPassword(token: String, password: String) async throws(ProtocolError) -> AuthenticatedAccount {
        let hash = try await hashPassword(password)
        let rows = try await database.rows(Functions.resetPassword, [MailToken.hash(of: token), hash], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.reset_password returned no id") }
        return AuthenticatedAccount(user: user, passwordHash: hash)
    }

    /// Queues a mail to the new address, with the token that confirms the change.
    ///
    /// - Throws: `invalid_credentials` if the password is wrong; `forbidden` for an account without one.
    package func requestEmailChange(of user: ID, to email: String, password: String) async throws(ProtocolError) {
        guard let stored = try await verifiedHash(of: user, password: password) else {
            throw ProtocolError(.forbidden, "This account has no password, which an email change requires.")
        }
        _ = try await database.rows(
            Functions.requestEmailChange, [user.description, stored, email, mailsPerHour], as: .accounts)
    }

    /// Confirms the email address of a mailed token.
    ///
    /// - Returns: `{"email"}`.
    /// - Throws: `invalid_token`; `email_taken` if another account has taken the address meanwhile.
    package func confirmEmail(token: String) async throws(ProtocolError) -> ByteBuffer {
        try await database.json(Functions.confirmEmail, [MailToken.hash(of: token)], as: .accounts)
    }

    /// Queues a confirmation mail if the server requires a confirmed address and the account's is not.
    ///
    /// - Throws: `email_unconfirmed` in that case.
    package func requireConfirmedEmail(of user: ID) async throws(ProtocolError) {
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
        static let resettableAccount = Statement(
            "accounts.resettable_account", "select accounts.resettable_account($1)")
        static let resetPassword = Statement(
            "accounts.reset_password", "select accounts.reset_password($1, $2)")
        static let requestEmailChange = Statement(
            "accounts.request_email_change", "select accounts.request_email_change($1::uuid, $2, $3, $4::int)")
        static let confirmEmail = Statement("accounts.confirm_email", "select accounts.confirm_email($1)")
        static let awaitConfirmation = Statement(
            "accounts.await_confirmation", "select accounts.await_confirmation($1::uuid, $2::int)")
    }
}
