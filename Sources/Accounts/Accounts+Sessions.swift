import Crypto
package import DatabaseAccess
import FoundationEssentials
package import Foundations
import Postgres
package import WireProtocol

/// Opening, checking, refreshing and ending sessions, and issuing their tokens.
extension Accounts {
    /// Verifies the signature and claims of an access token. ``requireActiveSession(of:)`` checks its session.
    package func verify(accessToken: String) async throws(ProtocolError) -> VerifiedToken {
        let token = try await keys.verify(accessToken)
        if provider == .builtin, token.session == nil { throw .invalidToken }
        return token
    }

    /// Checks the token's session. With an external provider, creates the user's profile on first use instead.
    ///
    /// - Throws: `session_revoked` if the session has ended; `invalid_token` if the user is unknown.
    package func requireActiveSession(of token: VerifiedToken) async throws(ProtocolError) {
        switch provider {
        case .builtin:
            if try await sessionChecks.load(token) { return }
            // Throws the reason, or marks the session as used.
            _ = try await database.rows(
                Functions.useSession, [token.user.description, token.session?.description], as: .accounts)
        case .external:
            // The external provider keeps the sessions, and a user may appear here for the first time.
            _ = try await database.rows(
                Functions.ensureProfile, [token.user.description, String(token.isGuest)], as: .accounts)
        }
    }

    /// Returns a coalescer that checks the sessions of up to 256 tokens with one query.
    package static func sessionChecks(in database: Database) -> RequestCoalescer<VerifiedToken, Bool> {
        RequestCoalescer(maxBatchSize: 256, on: database.reactor) { tokens throws(ProtocolError) in
            let rows = try await database.rowsForMany(
                Functions.areInUse,
                [tokens.plainArrayLiteral { $0.user }, tokens.plainArrayLiteral { $0.session }], as: .accounts)
            return (rows.text(0, 0) ?? "").arrayElements.map { $0 == "t" }
        }
    }

    /// Opens a session of the account and issues its tokens.
    ///
    /// - Throws: `invalid_credentials` if the password was changed since it was verified.
    package func openSession(_ session: ID = .random(), of account: AuthenticatedAccount) async throws(ProtocolError)
        -> IssuedTokens
    {
        let rows = try await database.rows(
            OpenedSession.statement, [session.description, account.user.description, account.passwordHash],
            as: .accounts)
        guard let opened = OpenedSession(rows) else { throw .fault("accounts.open_session returned no session") }
        return try issueTokens(
            account.user, RefreshToken(session: session, generation: opened.generation), opened.account)
    }

    /// Exchanges a refresh token for the next tokens of its session. Repeated calls with one token return the same
    /// ones.
    ///
    /// - Throws: `invalid_token`; `session_revoked` if the token is older than the predecessor of the active one. Then
    ///   it or its successor was stolen, and the call ends the session.
    package func refresh(_ text: String) async throws(ProtocolError) -> IssuedTokens {
        try requireBuiltin()
        guard let token = RefreshToken(text, key: settings.refreshKey) else {
            throw .unknownRefreshToken
        }
        let rows = try await database.rows(
            RefreshOutcome.statement,
            [token.session.description, String(token.generation), String(settings.refreshReuseSeconds)], as: .accounts)
        switch RefreshOutcome(rows) {
        case .active(let account, let user, let generation):
            return try issueTokens(user, RefreshToken(session: token.session, generation: generation), account)
        case .revoked: throw .sessionRevoked
        case .unknown: throw .unknownRefreshToken
        case nil: throw .fault("accounts.refresh returned no outcome")
        }
    }

    /// Ends the token's session, or all sessions of its user.
    ///
    /// - Returns: the number of sessions that ended.
    package func logout(_ token: VerifiedToken, everywhere: Bool) async throws(ProtocolError) -> Int {
        try requireBuiltin()
        let rows = try await database.rows(
            Functions.logout, [token.user.description, token.session?.description, String(everywhere)], as: .accounts)
        return try rows.count(of: "accounts.logout")
    }

    /// Opens a session of the account with this address, without its password, and returns the access token.
    package func accessToken(forEmail email: String) async throws(ProtocolError) -> String {
        guard let account = try await account(email: email) else {
            throw ProtocolError(
                .notFound,
                "No account with the address \(email) can sign in by password: it does not exist, has no password, or is "
                    + "disabled or deleted.")
        }
        return try await openSession(of: AuthenticatedAccount(user: account.id, passwordHash: account.passwordHash))
            .accessToken
    }

    private func issueTokens(
        _ user: ID, _ refreshToken: RefreshToken, _ account: AccountClaims
    ) throws(ProtocolError) -> IssuedTokens {
        let now = Date.now.wholeSeconds
        let expiry = now + Int64(settings.accessTokenSeconds)
        let appMetadata = account.appMetadata.flatMap { try? JSON(parsing: $0) }
        let claims: JSONObject = [
            "sub": .string(user.description), "aud": .string(settings.audience), "role": .string("authenticated"),
            "iss": .string(settings.issuer), "iat": .integer(now), "exp": .integer(expiry),
            "email": .string(account.email), "phone": .string(account.phone),
            "session_id": .string(refreshToken.session.description), "is_anonymous": .bool(account.isGuest),
            // The authenticator assurance level of a single factor.
            "aal": .string("aal1"), "app_metadata": appMetadata ?? .object([:]),
            // Empty: a name in the token would become outdated.
            "user_metadata": .object([:]),
        ]
        return IssuedTokens(
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
        static let logout = Statement(
            "accounts.logout", "select accounts.logout($1::uuid, $2::uuid, $3::boolean)")
    }
}

/// The tokens of a session that was opened or refreshed.
package struct IssuedTokens: Sendable {
    package let token: VerifiedToken
    package let accessToken: String
    package let refreshToken: String

    /// The validity of the access token, in seconds.
    package let seconds: Int

    /// The object `Tokens` (`docs/protocol.md`, section 5).
    package var tokens: JSONObject {
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
    /// The counter for passwords that are checked in this session.
    package var passwordChecks: PasswordAttempts { .checks(session: session ?? user) }

    package var expiresAt: String { Timestamp.text(Date(timeIntervalSince1970: expires)) }
}

extension ProtocolError {
    fileprivate static let unknownRefreshToken = ProtocolError(
        .invalidToken, "The refresh token is not valid here: sign in again.")
}
