internal import Crypto
internal import FoundationEssentials
internal import Postgres

/// The sessions of the accounts: how they are opened, used, refreshed and ended, and their tokens.
extension Accounts {
    /// Whose token it is, by its signature and its claims. Whether its session has ended, `use` knows.
    func verify(accessToken: String) async throws(ProtocolError) -> VerifiedToken {
        let token = try await keys.verify(accessToken)
        if provider == .builtin, token.session == nil { throw .invalidToken }
        return token
    }

    /// - Throws: `session_revoked` where the token's session has ended; `invalid_token` where its user is not known.
    func use(_ token: VerifiedToken) async throws(ProtocolError) {
        switch provider {
        case .builtin:
            if try await sessionChecks.load(token) { return }
            // Says why it is not, or makes it so.
            _ = try await database.rows(
                Functions.useSession, [token.user.description, token.session?.description], as: .accounts)
        case .external:
            // Sessions are the other server's; a user that it made is seen here for the first time.
            _ = try await database.rows(
                Functions.ensureProfile, [token.user.description, String(token.isGuest)], as: .accounts)
        }
    }

    /// Asks of many tokens at once whether they are in use.
    static func sessionChecks(in database: Database) -> RequestCoalescer<VerifiedToken, Bool> {
        RequestCoalescer(mostAtOnce: 256, on: database.reactor) { tokens throws(ProtocolError) in
            func array(_ ids: [ID?]) -> String { "{\(ids.map { $0?.description ?? "null" }.joined(separator: ","))}" }
            let rows = try await database.rowsForMany(
                Functions.areInUse, [array(tokens.map(\.user)), array(tokens.map(\.session))], as: .accounts)
            return (rows.text(0, 0) ?? "").arrayElements.map { $0 == "t" }
        }
    }

    /// Opens a session of that user under a new id, with its tokens.
    ///
    /// - Throws: `invalid_credentials` where the password was changed since it was verified.
    func openSession(_ session: ID = .random(), of holder: AccountHolder) async throws(ProtocolError) -> SignedIn {
        let rows = try await database.rows(
            OpenedSession.statement, [session.description, holder.user.description, holder.passwordHash],
            as: .accounts)
        guard let opened = OpenedSession(rows) else { throw .fault("accounts.open_session returned no session") }
        return try await signedIn(
            holder.user, RefreshToken(session: session, generation: opened.generation), opened.account)
    }

    /// The next tokens of a session: of many calls with one token all get the same.
    ///
    /// - Throws: `invalid_token`, or `session_revoked` where the token is older than the one before the active one: it
    ///   was stolen, or its successor was, so that the session has ended with this.
    func refresh(_ text: String) async throws(ProtocolError) -> SignedIn {
        try requireBuiltin()
        guard let token = RefreshToken(text, key: settings.refreshKey) else {
            throw .unknownRefreshToken
        }
        let rows = try await database.rows(
            RefreshOutcome.statement,
            [token.session.description, String(token.generation), String(settings.refreshReuseSeconds)], as: .accounts)
        switch RefreshOutcome(rows) {
        case .active(let account, let user, let generation):
            return try await signedIn(user, RefreshToken(session: token.session, generation: generation), account)
        case .revoked: throw .sessionRevoked
        case .unknown: throw .unknownRefreshToken
        case nil: throw .fault("accounts.refresh returned no outcome")
        }
    }

    /// Ends the token's session, or all of its user's.
    ///
    /// - Returns: how many ended.
    func logout(_ token: VerifiedToken, everywhere: Bool) async throws(ProtocolError) -> Int {
        try requireBuiltin()
        let rows = try await database.rows(
            Functions.logout, [token.user.description, token.session?.description, String(everywhere)], as: .accounts)
        return try rows.count(of: "accounts.logout")
    }

    /// A token of that account, in a session of its own.
    func accessToken(forEmail email: String) async throws(ProtocolError) -> String {
        guard let account = try await account(email: email) else {
            throw ProtocolError(
                .notFound,
                "No account with the address \(email) can sign in by password: it does not exist, has no password, or is "
                    + "disabled or deleted.")
        }
        return try await openSession(of: AccountHolder(user: account.id, passwordHash: account.passwordHash))
            .accessToken
    }

    private func signedIn(
        _ user: ID, _ refreshToken: RefreshToken, _ account: AccountClaims
    ) async throws(ProtocolError) -> SignedIn {
        let now = Date.now.wholeSeconds
        let expiry = now + Int64(settings.accessTokenSeconds)
        let appMetadata = account.appMetadata.flatMap { try? JSON(parsing: $0) }
        let claims: JSONObject = [
            "sub": .string(user.description), "aud": .string(settings.audience), "role": .string("authenticated"),
            "iss": .string(settings.issuer), "iat": .integer(now), "exp": .integer(expiry),
            "email": .string(account.email), "phone": .string(account.phone),
            "session_id": .string(refreshToken.session.description), "is_anonymous": .bool(account.isGuest),
            // The authenticator assurance level of one factor.
            "aal": .string("aal1"), "app_metadata": appMetadata ?? .object([:]),
            // A name in it would be as old as the token.
            "user_metadata": .object([:]),
        ]
        return SignedIn(
            token: VerifiedToken(
                user: user, session: refreshToken.session, isGuest: account.isGuest, expires: Double(expiry),
                remaining: Double(settings.accessTokenSeconds)),
            accessToken: try keys.sign(claims), refreshToken: refreshToken.text(key: settings.refreshKey),
            seconds: settings.accessTokenSeconds)
    }

    private enum Functions {
        static let useSession = Statement("accounts.use_session", "select accounts.use_session($1::uuid, $2::uuid)")
        static let areInUse = Statement("accounts.are_in_use", "select accounts.are_in_use($1::uuid[], $2::uuid[])")
        static let ensureProfile = Statement(
            "accounts.ensure_profile", "select accounts.ensure_profile($1::uuid, $2::boolean)")
        static let logout = Statement("accounts.logout", "select accounts.logout($1::uuid, $2::uuid, $3::boolean)")
    }
}

/// A session that was just opened.
struct SignedIn: Sendable {
    let token: VerifiedToken
    let accessToken: String
    let refreshToken: String
    let seconds: Int

    /// Tokens (`docs/protocol.md`, section 5).
    var tokens: JSONObject {
        [
            "access_token": .string(accessToken),
            "token_type": .string("bearer"),
            "expires_in": .integer(seconds),
            "expires_at": .string(token.expiresAt),
            "refresh_token": .string(refreshToken),
            "user_id": .string(token.user.description),
            "is_guest": .bool(token.isGuest),
        ]
    }
}

extension VerifiedToken {
    /// What the passwords that it gives are counted as.
    var passwordChecks: PasswordAttempts { .checks(session: session ?? user) }

    var expiresAt: String { Timestamp.text(Date(timeIntervalSince1970: expires)) }
}

extension ProtocolError {
    fileprivate static let unknownRefreshToken = ProtocolError(
        .invalidToken, "That is no refresh token of this server.")
}
