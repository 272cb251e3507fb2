extension Operation {
    /// `auth.*`: the accounts that Postline keeps.
    static let auth = [register, login, guest, upgrade, refresh, logout, changePassword]

    private static let register = Operation(
        "auth.register", .anyone, "Makes an account, and signs in to it.",
        [
            .newEmail, .newPassword("password"),
            Parameter("username", .string(.username, heldBy: .database), .optional, "Nobody else's, in any case."),
            .fullName(.required),
        ],
        result: .tokens, errors: [.emailTaken, .usernameTaken, .emailUnconfirmed, .forbidden]
    ) { session, params throws(ProtocolError) in
        let email = try params.requiredEmail()
        let password = try params.required("password")
        let fullName = try params.required("full_name")
        try await session.requireMayBecome(nil)
        try session.limits.takeSignIn(from: session.peerAddress)
        let holder = try await session.accounts.register(
            email: email, password: password, username: params.string("username"), fullName: fullName)
        try await session.accounts.requireConfirmedEmail(of: holder.user)
        return try await session.signIn(holder)
    }

    private static let login = Operation(
        "auth.login", .anyone, "Signs in, and brings a guest's data along.",
        [
            Parameter("email", .string(.any), "The account's, in any case."),
            .givenPassword("password", .required),
            .guestRefreshToken,
        ],
        result: .tokensAndMerged, errors: [.invalidCredentials, .emailUnconfirmed, .invalidToken, .forbidden]
    ) { session, params throws(ProtocolError) in
        // In one spelling for the count of failures and for the database: another is no further try.
        let email = try params.requiredEmail()
        let password = try params.required("password")
        try session.limits.takeSignIn(from: session.peerAddress)
        let holder = try await session.limits.counting(.signIns(with: email)) { () throws(ProtocolError) in
            try await session.accounts.holder(email: email, password: password)
        }
        try await session.requireMayBecome(holder.user)
        try await session.accounts.requireConfirmedEmail(of: holder.user)
        guard let guestToken = params.string("guest_refresh_token") else { return try await session.signIn(holder) }
        let merged = try await session.accounts.merge(guestRefreshToken: guestToken, into: holder)
        await session.recordWriteTimeAndNotifyFeed()
        return try await session.signIn(holder, adding: [.init(name: "merged", value: merged)])
    }

    private static let guest = Operation(
        "auth.guest", .anyone, "Makes a guest, and signs in as it.", [.fullName(.optional)], result: .tokens,
        errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        try await session.requireMayBecome(nil)
        try session.limits.takeSignIn(from: session.peerAddress)
        return try await session.signIn(try await session.accounts.guest(fullName: params.string("full_name")))
    }

    private static let upgrade = Operation(
        "auth.upgrade", .user, "Makes a guest a full account with the same id and data.",
        [.newEmail, .newPassword("password"), .fullName(.optional)], result: .tokens,
        errors: [.emailTaken, .forbidden]
    ) { session, params throws(ProtocolError) in
        let email = try params.requiredEmail()
        let password = try params.required("password")
        let token = try await session.token
        // The database decides; this saves it, and the hashing, the trouble.
        guard token.isGuest else { throw ProtocolError(.forbidden, "This is a full account already.") }
        try session.limits.takeSignIn(from: session.peerAddress)
        let holder = try await session.accounts.upgrade(
            token.user, email: email, password: password, fullName: params.string("full_name"))
        await session.recordWriteTimeAndNotifyFeed()
        return try await session.signIn(holder)
    }

    private static let refresh = Operation(
        "auth.refresh", .anyone, "The next tokens of a session.",
        [Parameter("refresh_token", .string(.any), "The session's newest; each is used once.")], result: .tokens,
        errors: [.invalidToken, .sessionRevoked, .forbidden]
    ) { session, params throws(ProtocolError) in
        let text = try params.required("refresh_token")
        return Answer(.object(try await session.accounts.refresh(text).tokens))
    }

    private static let logout = Operation(
        "auth.logout", .user, "Ends the session, or all of the user's.",
        [Parameter("all", .bool, .optional, default: .bool(false), "Whether all of the user's sessions end.")],
        result: .revoked, errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        let everywhere = params.bool("all")
        let revoked = try await session.end { () throws(ProtocolError) in
            try await session.accounts.logout(session.token, everywhere: everywhere)
        }
        return Answer(.object(["revoked": .integer(revoked)]))
    }

    private static let changePassword = Operation(
        "auth.change_password", .user, "Sets another password, and ends every other session.",
        [.givenPassword("current_password", .required), .newPassword("new_password")], result: .revoked,
        errors: [.invalidCredentials, .forbidden]
    ) { session, params throws(ProtocolError) in
        let current = try params.required("current_password")
        let new = try params.required("new_password")
        let token = try await session.token
        let revoked = try await session.limits.counting(token.passwordChecks) { () throws(ProtocolError) in
            try await session.accounts.changePassword(of: token, from: current, to: new)
        }
        return Answer(.object(["revoked": .integer(revoked)]))
    }
}

extension Session {
    fileprivate nonisolated var accounts: Accounts { service.accounts }

    /// Opens a session of that user on this connection, and answers with its tokens.
    fileprivate func signIn(
        _ holder: AccountHolder, adding members: [JSONObject.Member] = []
    ) async throws(ProtocolError) -> Answer {
        Answer(.object(JSONObject(try await signIn(holder).tokens.members + members)))
    }
}

extension Schema {
    /// How many sessions have ended.
    fileprivate static let revoked = object([("revoked", .integer)])
}

extension Parameter {
    fileprivate static let newEmail = Parameter("email", .string(.email), "The account's, compared in lower case.")

    /// A password that may be set.
    static func newPassword(_ name: String) -> Parameter {
        Parameter(name, .string(.bytes(8...72)), "The one to set.")
    }

    /// A password to be checked. Those of accounts that came from another server may be shorter than ours, and none is
    /// longer.
    static func givenPassword(_ name: String, _ presence: Presence) -> Parameter {
        Parameter(name, .string(.bytes(0...72)), presence, "The account's.")
    }

    fileprivate static func fullName(_ presence: Presence) -> Parameter {
        Parameter("full_name", .string(.characters(1...100), heldBy: .database), presence, "What others see.")
    }
}
