import Accounts
import WireProtocol

extension Operation {
    /// The methods `auth.*` that use mailed tokens.
    static let mails = [requestPasswordReset, resetPassword, requestEmailChange, confirmEmail]

    private static let requestPasswordReset = Operation(
        "auth.request_password_reset", .anyone,
        "Mails a token that resets the account's password. The answer is the same for an unknown address.",
        [Parameter("email", .string(.email), "The account's address, compared without case.")], result: .object([]),
        errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        let email = try params.requiredEmail()
        try session.accounts.requireMail()
        try session.limits.takeMail(from: session.peerAddress)
        try await session.accounts.requestPasswordReset(email: email)
        return Answer(.object([:]))
    }

    private static let resetPassword = Operation(
        "auth.reset_password", .anyone,
        "Sets the password with a mailed token, ends every other session, and signs in.",
        [.mailToken, .newPassword("password")], result: .tokens, errors: [.invalidToken, .forbidden]
    ) { session, params throws(ProtocolError) in
        let token = try params.required("token")
        let password = try params.required("password")
        try session.accounts.requireMail()
        try session.limits.takeSignIn(from: session.peerAddress)
        // A connection of another user is rejected before the password is hashed and the token is used up.
        try await session.requireNoOtherUser(than: try await session.accounts.account(ofResetToken: token))
        guard await session.userID != nil else {
            let account = try await session.accounts.resetPassword(token: token, password: password)
            return Answer(.object(try await session.signIn(account).tokens))
        }
        // The reset also ends the session of this connection.
        let account = try await session.endOwnSession { () throws(ProtocolError) in
            try await session.accounts.resetPassword(token: token, password: password)
        }
        return Answer(.object(try await session.signIn(account).tokens))
    }

    private static let requestEmailChange = Operation(
        "auth.request_email_change", .user,
        "Mails a token to a new address, which makes it the account's.",
        [
            Parameter("email", .string(.email), "The new address, or the account's own if it is not confirmed."),
            .givenPassword("password", .required),
        ], result: .object([]), errors: [.invalidCredentials, .forbidden]
    ) { session, params throws(ProtocolError) in
        let email = try params.requiredEmail()
        let password = try params.required("password")
        let token = try await session.token
        try session.accounts.requireMail()
        try session.limits.takeMail(from: session.peerAddress)
        try await session.limits.withPasswordLimit(token.passwordChecks) { () throws(ProtocolError) in
            try await session.accounts.requestEmailChange(of: token.user, to: email, password: password)
        }
        return Answer(.object([:]))
    }

    private static let confirmEmail = Operation(
        "auth.confirm_email", .anyone, "Confirms the account's address, or its new one, with a mailed token.",
        [.mailToken], result: .object([("email", .string)]), errors: [.invalidToken, .emailTaken, .forbidden]
    ) { session, params throws(ProtocolError) in
        let token = try params.required("token")
        try session.accounts.requireMail()
        try session.limits.takeSignIn(from: session.peerAddress)
        let confirmed = try await session.accounts.confirmEmail(token: token)
        await session.recordWriteTimeAndNotifyFeed()
        return Answer(.result(confirmed))
    }
}

extension ConnectionSession {
    fileprivate nonisolated var accounts: Accounts { service.accounts }
}

extension Parameter {
    fileprivate static let mailToken = Parameter(
        "token", .string(.any), "The mailed token, which can be used once within an hour.")
}
