internal import Crypto
internal import FoundationEssentials
internal import JWTKit
internal import PasswordHashing
internal import Postgres

/// Who keeps the accounts.
public enum AccountKeeper: String, Sendable, CaseIterable {
    /// Postline does, in `auth.users`.
    case builtin

    /// Another server does; Postline verifies its tokens.
    case external
}

/// The accounts: passwords, sessions and tokens.
struct Accounts: Sendable {
    let keeper: AccountKeeper
    let database: Database
    let keys: TokenKeys
    let settings: Settings
    let hasher: PasswordHasher

    struct Settings: Sendable {
        let issuer: String
        let audience: String
        let accessTokenSeconds: Int

        /// From which refresh tokens are derived.
        let refreshKey: SymmetricKey
    }

    /// Makes an account.
    func register(
        email: String, password: String, username: String?, fullName: String
    ) async throws(ProtocolError) -> ID {
        try requireBuiltin()
        let hash = try await hashing { hasher throws(PasswordHashingError) in try await hasher.hash(password) }
        let rows = try await database.rows(Functions.register, [email, hash, username, fullName], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.register returned no id") }
        return user
    }

    /// Whose account it is, by email and password.
    ///
    /// An unknown address costs the time of a wrong password, and is answered with the same bytes.
    func holder(email: String, password: String) async throws(ProtocolError) -> ID {
        try requireBuiltin()
        let rows = try await database.rows(Functions.credentials, [email], as: .accounts)
        let account = rows.count == 1 ? rows.id(0, 0) : nil
        let stored = rows.count == 1 ? rows.text(0, 1) : nil
        let matches = try await hashing { hasher throws(PasswordHashingError) in
            if let stored { return try await hasher.verify(password, against: stored) }
            try await hasher.verifyAgainstNothing(password)
            return false
        }
        guard matches, let account else {
            throw ProtocolError(.invalidCredentials, "The email address or the password is wrong.")
        }
        return account
    }

    /// A token of that account, in a session of its own.
    func accessToken(forEmail email: String) async throws(ProtocolError) -> String {
        try requireBuiltin()
        let rows = try await database.rows(Functions.credentials, [email], as: .accounts)
        guard rows.count == 1, let user = rows.id(0, 0) else {
            throw ProtocolError(.notFound, "There is no account with the address \(email).")
        }
        return try await openSession(for: user).accessToken
    }

    /// Takes a token for what it is worth now: its session must not have ended.
    func authenticate(accessToken: String) async throws(ProtocolError) -> VerifiedToken {
        let token = try await keys.verify(accessToken)
        switch keeper {
        case .builtin:
            guard let session = token.session else { throw .invalidToken }
            _ = try await database.rows(
                Functions.useSession, [token.user.description, session.description], as: .accounts)
        case .external:
            _ = try await database.rows(
                Functions.ensureProfile, [token.user.description, String(token.isGuest)], as: .accounts)
        }
        return token
    }

    /// Opens a session of that user, with its tokens.
    func openSession(for user: ID) async throws(ProtocolError) -> SignedIn {
        let rows = try await database.rows(Functions.openSession, [user.description], as: .accounts)
        guard rows.count == 1, let session = rows.id(0, 0), let generation = rows.text(0, 1) else {
            throw .fault("accounts.open_session returned no session")
        }
        let now = Date.now.timeIntervalSince1970.rounded(.down)
        let isGuest = rows.text(0, 4) == "t"
        let token = AccessToken(
            sub: user.description, aud: .init(value: [settings.audience]), role: "authenticated", iss: settings.issuer,
            iat: now, nbf: nil, exp: now + Double(settings.accessTokenSeconds), email: rows.text(0, 2) ?? "",
            phone: rows.text(0, 3) ?? "", sessionID: session.description, isAnonymous: isGuest,
            appMetadata: .object(from: rows.text(0, 5)), userMetadata: .object(from: rows.text(0, 6)))
        do {
            return SignedIn(
                token: VerifiedToken(
                    user: user, session: session, isGuest: isGuest, expires: token.exp,
                    remaining: Double(settings.accessTokenSeconds)),
                accessToken: try await keys.sign(token),
                refreshToken: refreshToken(session: session, generation: generation),
                seconds: settings.accessTokenSeconds)
        } catch {
            throw .fault("the access token could not be signed: \(error)")
        }
    }

    /// A refresh token is derived, not stored: that of a session's generation is always the same.
    private func refreshToken(session: ID, generation: String) -> String {
        let subject = "\(session).\(generation)"
        let code = HMAC<SHA256>.authenticationCode(for: Array(subject.utf8), using: settings.refreshKey)
        return "\(subject).\(code.hexadecimal)"
    }

    private func requireBuiltin() throws(ProtocolError) {
        guard keeper == .builtin else {
            throw ProtocolError(
                .forbidden, "Accounts are kept by another server here: sign in there, then send session.authenticate.")
        }
    }

    private func hashing<Value>(
        _ work: (PasswordHasher) async throws(PasswordHashingError) -> Value
    ) async throws(ProtocolError) -> Value {
        do throws(PasswordHashingError) {
            return try await work(hasher)
        } catch {
            switch error {
            case .busy:
                throw ProtocolError(
                    .rateLimited, "Too many people are signing in at once. Try again.",
                    data: [.init(name: "retry_after", value: .integer(1))])
            case .cancelled, .unreadableHash, .failed: throw .fault("hashing failed: \(error)")
            }
        }
    }

    private enum Functions {
        static let register = Statement("accounts.register", "select accounts.register($1, $2, $3, $4)")
        static let credentials = Statement(
            "accounts.credentials", "select user_id, password_hash from accounts.credentials($1)")
        static let openSession = Statement(
            "accounts.open_session",
            """
            select session_id, generation, email, phone, is_anonymous, app_metadata, user_metadata \
            from accounts.open_session($1::uuid)
            """)
        static let useSession = Statement("accounts.use_session", "select accounts.use_session($1::uuid, $2::uuid)")
        static let ensureProfile = Statement(
            "accounts.ensure_profile", "select accounts.ensure_profile($1::uuid, $2::boolean)")
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
    var expiresAt: String { Timestamp.text(Date(timeIntervalSince1970: expires)) }
}

extension JSONClaim {
    /// An object that the database wrote; empty where it wrote none.
    fileprivate static func object(from text: String?) -> JSONClaim {
        guard let text, let claim = try? JSONDecoder().decode(JSONClaim.self, from: Data(text.utf8)) else {
            return .object([:])
        }
        return claim
    }
}

extension Rows {
    fileprivate func id(_ row: Int, _ column: Int) -> ID? { text(row, column).flatMap { ID($0) } }
}
