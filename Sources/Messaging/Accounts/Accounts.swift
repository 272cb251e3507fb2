internal import Crypto
internal import FoundationEssentials
internal import NIOCore
internal import PasswordHashing
internal import Postgres

/// Who keeps the accounts.
public enum AccountProvider: String, Sendable, CaseIterable {
    /// Postline does, in `auth.users`.
    case builtin

    /// Another server does; Postline verifies its tokens.
    case external
}

/// The accounts: passwords, sessions and tokens.
struct Accounts: Sendable {
    let provider: AccountProvider
    let database: Database
    let keys: TokenKeys

    /// Nil where nobody signs in with Apple.
    let apple: AppleSignIn?

    /// Nil where no mail is sent.
    let mail: MailPolicy?

    /// How many mails of a kind an address is sent an hour; nil: as many as there are.
    let mailsPerHour: String?
    let settings: Settings
    let hasher: PasswordHasher
    let metrics: HashingMetrics
    let unreadableHashes: UnreadableHashes

    /// Whether sessions are in use; those that are asked for at once are asked for together.
    let sessionChecks: RequestCoalescer<VerifiedToken, Bool>

    struct Settings: Sendable {
        let issuer: String
        let audience: String
        let accessTokenSeconds: Int

        /// From which refresh tokens are derived.
        let refreshKey: SymmetricKey

        /// For how long after a refresh the token before it still gets the same answer, for a client that lost it.
        let refreshReuseSeconds: Int
    }

    /// Makes an account.
    func register(
        email: String, password: String, username: String?, fullName: String
    ) async throws(ProtocolError) -> AccountHolder {
        try requireBuiltin()
        let hash = try await hashed(password)
        let rows = try await database.rows(
            Functions.register, [email, hash, username, fullName, String(mail != nil), mailsPerHour], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.register returned no id") }
        return AccountHolder(user: user, passwordHash: hash)
    }

    /// Whose account it is, by email and password.
    ///
    /// An unknown address costs the time of a wrong password, and is answered with the same bytes.
    func holder(email: String, password: String) async throws(ProtocolError) -> AccountHolder {
        guard let account = try await account(email: email) else {
            try await hashing { hasher throws(PasswordHashingError) in try await hasher.verifyAgainstNothing(password) }
            throw .wrongCredentials
        }
        guard let hash = try await hash(account.passwordHash, of: account.id, matching: password) else {
            throw .wrongCredentials
        }
        return AccountHolder(user: account.id, passwordHash: hash)
    }

    /// The hash that is stored now, where the password is the one it was made of, else nil.
    ///
    /// One that came from another server is replaced by one of ours. One that cannot be verified matches no password.
    private func hash(
        _ stored: String, of user: ID, matching password: String
    ) async throws(ProtocolError) -> String? {
        guard try await matches(password, stored, of: user) else { return nil }
        if PasswordHasher.isOurs(stored) { return stored }
        let hash = try await hashed(password)
        let rows = try await database.rows(Functions.renewHash, [user.description, stored, hash], as: .accounts)
        guard let now = rows.text(0, 0) else { return nil }
        // Another sign-in has renewed it first, or it is another password's.
        return now == hash ? hash : try await self.hash(now, of: user, matching: password)
    }

    private func matches(_ password: String, _ stored: String, of user: ID) async throws(ProtocolError) -> Bool {
        try await hashing { hasher throws(PasswordHashingError) in
            do throws(PasswordHashingError) {
                return try await hasher.verify(password, against: stored)
            } catch .unreadableHash {
                unreadableHashes.note(user)
                return false
            }
        }
    }

    /// The account with that address that one can sign in to by password.
    func account(email: String) async throws(ProtocolError) -> (id: ID, passwordHash: String)? {
        try requireBuiltin()
        let rows = try await database.rows(Functions.credentials, [email], as: .accounts)
        guard rows.count == 1, let id = rows.id(0, 0), let hash = rows.text(0, 1) else { return nil }
        return (id, hash)
    }

    /// Makes a guest: an account that its session alone leads to.
    func guest(fullName: String?) async throws(ProtocolError) -> AccountHolder {
        try requireBuiltin()
        let rows = try await database.rows(Functions.guest, [fullName], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.guest returned no id") }
        return AccountHolder(user: user, passwordHash: nil)
    }

    /// Makes a guest a full account of the same id.
    ///
    /// - Throws: `forbidden` where it is one already, `email_taken`.
    func upgrade(
        _ guest: ID, email: String, password: String, fullName: String?
    ) async throws(ProtocolError) -> AccountHolder {
        try requireBuiltin()
        let hash = try await hashed(password)
        _ = try await database.rows(
            Functions.upgrade, [guest.description, email, hash, fullName, String(mail != nil), mailsPerHour],
            as: .accounts)
        return AccountHolder(user: guest, passwordHash: hash)
    }

    /// Sets another password and ends every other session of the user.
    ///
    /// - Returns: how many ended.
    /// - Throws: `invalid_credentials` where `current` is not the password.
    func changePassword(
        of token: VerifiedToken, from current: String, to new: String
    ) async throws(ProtocolError) -> Int {
        try requireBuiltin()
        let stored = try await verifiedHash(of: token.user, password: current, field: "current_password")
        let hash = try await hashed(new)
        let rows = try await database.rows(
            Functions.changePassword,
            [token.user.description, token.session?.description, stored, hash], as: .accounts)
        return try rows.count(of: "accounts.change_password")
    }

    /// Makes a tombstone of the user, and ends all its sessions.
    ///
    /// - Parameter password: nil for a guest, who has none.
    func delete(_ user: ID, password: String?) async throws(ProtocolError) -> ByteBuffer {
        try requireBuiltin()
        let stored = try await verifiedHash(of: user, password: password, field: "password")
        return try await database.json(Functions.deleteUser, [user.description, stored], as: .accounts)
    }

    /// The stored hash that this password matches now; nil for a guest, who gives none.
    ///
    /// - Parameter field: the param that the password came in.
    /// - Throws: `invalid_credentials` where it does not.
    private func verifiedHash(
        of user: ID, password: String?, field: String
    ) async throws(ProtocolError) -> String? {
        let rows = try await database.rows(Functions.passwordHash, [user.description], as: .accounts)
        let stored = rows.text(0, 0)
        switch (stored, password) {
        case (nil, nil): return nil
        case (let stored?, let password?):
            guard let hash = try await hash(stored, of: user, matching: password) else {
                throw ProtocolError(.invalidCredentials, "The password is wrong.")
            }
            return hash
        case (nil, _?): throw .invalid(field, "cannot be given: this account has none")
        case (_?, nil): throw .invalid(field, "is missing")
        }
    }

    /// The stored hash that this password matches now; nil for an account without one.
    ///
    /// - Throws: `invalid_credentials` where it does not.
    func verifiedHash(ofPassworded user: ID, password: String) async throws(ProtocolError) -> String? {
        let rows = try await database.rows(Functions.passwordHash, [user.description], as: .accounts)
        guard let stored = rows.text(0, 0) else { return nil }
        guard let hash = try await hash(stored, of: user, matching: password) else {
            throw ProtocolError(.invalidCredentials, "The password is wrong.")
        }
        return hash
    }

    /// Brings the guest whose refresh token this is into the account.
    ///
    /// - Returns: what came over with it: `{"conversations","messages"}`.
    /// - Throws: `invalid_token` where it is no guest's, or is not taken any more; `invalid_credentials` where the
    ///   account's password was changed since it was verified.
    func merge(guestRefreshToken text: String, into account: AccountHolder) async throws(ProtocolError) -> JSON {
        let token = try guestToken(text)
        let rows = try await database.rows(
            Functions.mergeGuest,
            [
                account.user.description, account.passwordHash, token.session.description, String(token.generation),
                String(settings.refreshReuseSeconds),
            ], as: .accounts)
        guard let text = rows.text(0, 0), let merged = try? JSON(parsing: text) else {
            throw .fault("accounts.merge_guest returned no object")
        }
        return merged
    }

    /// A guest's refresh token that this server has given.
    ///
    /// - Throws: `invalid_token` where it has not.
    func guestToken(_ text: String) throws(ProtocolError) -> RefreshToken {
        guard let token = RefreshToken(text, key: settings.refreshKey) else {
            throw ProtocolError(
                .invalidToken, "\"guest_refresh_token\" is no guest's token.",
                data: [.init(name: "field", value: .string("guest_refresh_token"))])
        }
        return token
    }

    func requireBuiltin() throws(ProtocolError) {
        guard provider == .builtin else {
            throw ProtocolError(
                .forbidden, "Accounts are kept by another server here: sign in there, then send session.authenticate.")
        }
    }

    func hashed(_ password: String) async throws(ProtocolError) -> String {
        try await hashing { hasher throws(PasswordHashingError) in try await hasher.hash(password) }
    }

    private func hashing<Value>(
        _ work: (PasswordHasher) async throws(PasswordHashingError) -> Value
    ) async throws(ProtocolError) -> Value {
        do throws(PasswordHashingError) {
            return try await work(hasher)
        } catch {
            switch error {
            case .busy:
                metrics.refused()
                throw ProtocolError(
                    .rateLimited, "Too many people are signing in at once. Try again.",
                    data: [.init(name: "retry_after", value: .integer(1))])
            case .cancelled, .unreadableHash, .failed: throw .fault("hashing failed: \(error)")
            }
        }
    }

    private enum Functions {
        static let register = Statement(
            "accounts.register", "select accounts.register($1, $2, $3, $4, $5::boolean, $6::int)")
        static let credentials = Statement(
            "accounts.credentials", "select user_id, password_hash from accounts.credentials($1)")
        static let renewHash = Statement("accounts.renew_hash", "select accounts.renew_hash($1::uuid, $2, $3)")
        static let passwordHash = Statement("accounts.password_hash", "select accounts.password_hash($1::uuid)")
        static let guest = Statement("accounts.guest", "select accounts.guest($1)")
        static let upgrade = Statement(
            "accounts.upgrade", "select accounts.upgrade($1::uuid, $2, $3, $4, $5::boolean, $6::int)")
        static let changePassword = Statement(
            "accounts.change_password", "select accounts.change_password($1::uuid, $2::uuid, $3, $4)")
        static let deleteUser = Statement("accounts.delete_user", "select accounts.delete_user($1::uuid, $2)")
        static let mergeGuest = Statement(
            "accounts.merge_guest", "select accounts.merge_guest($1::uuid, $2, $3::uuid, $4::integer, $5::integer)")
    }
}

extension ProtocolError {
    /// The same bytes whether there is such an account or not.
    fileprivate static let wrongCredentials = ProtocolError(
        .invalidCredentials, "The email address or the password is wrong.")
}
