import Accounts
import WireProtocol

extension Operation {
    /// The methods `auth.*` of accounts that Postline keeps.
    static let auth = [register, login, guest, upgrade, refresh, logout, changePassword]

    private static let register = Operation(
        "auth.register", .anyone, "Creates an account and signs in.",
        [
            .newEmail, .newPassword("password"),
            Parameter(
                "username", .string(.username, validatedBy: .database), .optional,
                "The unique username, compared without case."),
            .fullName(.required),
        ],
        result: .tokens, errors: [.emailTaken, .usernameTaken, .emailUnconfirmed, .forbidden]
    ) { session, params throws(ProtocolError) in
        let email = try params.requiredEmail()
        let password = try params.required("password")
        let fullName = try params.required("full_name")
        try await session.requireNoOtherUser(than: nil)
        try session.limits.takeSignIn(from: session.peerAddress)
        if session.accounts.mail != nil { try session.limits.takeMail(from: session.peerAddress) }
        let account = try await session.accounts.register(
            email: email, password: password, username: params.string("username"), fullName: fullName)
        try await session.accounts.requireConfirmedEmail(of: account.user)
        return try await session.answerSignIn(account)
    }

    private static let login = Operation(
        "auth.login", .anyone, "Signs in, and merges a guest into the account if its token is given.",
        [
            Parameter("email", .string(.any), "The account's address, compared without case."),
            .givenPassword("password", .required),
            .guestRefreshToken,
        ],
        result: .tokensAndMerged, errors: [.invalidCredentials, .emailUnconfirmed, .invalidToken, .forbidden]
    ) { session, params throws(ProtocolError) in
        // Normalized, so that another spelling of the address does not allow more attempts.
        let email = try params.requiredEmail()
        let password = try params.required("password")
        try session.limits.takeSignIn(from: session.peerAddress)
        let account = try await session.limits.withPasswordLimit(.signIns(with: email)) { () throws(ProtocolError) in
            try await session.accounts.authenticate(email: email, password: password)
        }
        try await session.requireNoOtherUser(than: account.user)
        try await session.accounts.requireConfirmedEmail(of: account.user)
        guard let guestToken = params.string("guest_refresh_token") else {
            return try await session.answerSignIn(account)
        }
        let merged = try await session.accounts.merge(guestRefreshToken: guestToken, into: account)
        await session.recordWriteTimeAndNotifyFeed()
        return try await session.answerSignIn(account, adding: [.init(name: "merged", value: merged)])
    }

    private static let guest = Operation(
        "auth.guest", .anyone, "Creates a guest and signs in as it.", [.fullName(.optional)], result: .tokens,
        errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.requireNoOtherUser(than: nil)
        try session.limits.takeSignIn(from: session.peerAddress)
        return try await session.answerSignIn(
            try await session.accounts.createGuest(fullName: params.string("full_name")))
    }

    private static let upgrade = Operation(
        "auth.upgrade", .user, "Upgrades a guest to a full account with the same id and data.",
        [.newEmail, .newPassword("password"), .fullName(.optional)], result: .tokens,
        errors: [.emailTaken, .forbidden]
    ) { session, params throws(ProtocolError) in
        let email = try params.requiredEmail()
        let password = try params.required("password")
        let token = try await session.token
        // The database checks this too. The early check saves the hashing.
        guard token.isGuest else {
            throw ProtocolError(.forbidden, "Only a guest can be upgraded, and this account is not a guest.")
        }
        try session.limits.takeSignIn(from: session.peerAddress)
        if session.accounts.mail != nil { try session.limits.takeMail(from: session.peerAddress) }
        let account = try await session.accounts.upgrade(
            token.user, email: email, password: password, fullName: params.string("full_name"))
        await session.recordWriteTimeAndNotifyFeed()
        return try await session.answerSignIn(account)
    }

    private static let refresh = Operation(
        "auth.refresh", .anyone, "Returns the next tokens of a session.",
        [Parameter("refresh_token", .string(.any), "The session's newest refresh token. Each is used once.")],
        result: .tokens,
        errors: [.invalidToken, .sessionRevoked, .forbidden]
    ) { session, params throws(ProtocolError) in
        let text = try params.required("refresh_token")
        return Answer(.object(try await session.accounts.refresh(text).tokens))
    }

    private static let logout = Operation(
        "auth.logout", .user, "Ends the session, or all sessions of the user.",
        [Parameter("all", .bool, .optional, default: .bool(false), "True to end all sessions of the user.")],
        result: .revoked, errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        let everywhere = params.bool("all")
        let revoked = try await session.endOwnSession { () throws(ProtocolError) in
            try await session.accounts.logout(session.token, everywhere: everywhere)
        }
        return Answer(.object(["revoked": .integer(revoked)]))
    }

    private static let changePassword = Operation(
        "auth.change_password", .user, "Changes the password and ends every other session.",
        [.givenPassword("current_password", .required), .newPassword("new_password")], result: .revoked,
        errors: [.invalidCredentials, .forbidden]
    ) { session, params throws(ProtocolError) in
        let current = try params.required("current_password")
        let new = try params.required("new_password")
        let token = try await session.token
        let revoked = try await session.limits.withPasswordLimit(token.passwordChecks) { () throws(ProtocolError) in
            try await session.accounts.changePassword(of: token, from: current, to: new)
        }
        return Answer(.object(["revoked": .integer(revoked)]))
    }
}

extension ConnectionSession {
    fileprivate nonisolated var accounts: Accounts { service.accounts }

    /// Opens a session of the account on this connection, and returns its tokens.
    fileprivate func answerSignIn(
        _ account: AuthenticatedAccount, adding members: [JSONObject.Member] = []
    ) async throws(ProtocolError) -> Answer {
        Answer(.object(JSONObject(try await signIn(account).tokens.members + members)))
    }
}

extension Schema {
    /// The number of ended sessions.
    fileprivate static let revoked = object([("revoked", .integer)])
}

extension Parameter {
    fileprivate static let newEmail = Parameter(
        "email", .string(.email), "The account's address, compared without case.")

    /// A new password.
    static func newPassword(_ name: String) -> Parameter {
        Parameter(name, .string(.bytes(8...72)), "The new password.")
    }

    /// A password to check. Imported accounts may have shorter passwords than new ones, but not longer ones.
    static func givenPassword(_ name: String, _ requirement: Requirement) -> Parameter {
        Parameter(name, .string(.bytes(0...72)), requirement, "The account's password.")
    }

    fileprivate static func fullName(_ requirement: Requirement) -> Parameter {
        Parameter(
            "full_name", .string(.characters(1...100), validatedBy: .database), requirement, "The name that others see."
        )
    }
}
