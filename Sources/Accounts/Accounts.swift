package import Crypto
package import DatabaseAccess
import FoundationEssentials
package import Foundations
package import NIOCore
import Postgres
package import WireProtocol

/// The server that keeps the accounts.
package enum AccountProvider: String, Sendable, CaseIterable {
    /// Postline, in `auth.users`.
    case builtin

    /// Another server, whose tokens Postline verifies.
    case external
}

/// Accounts, with their passwords, sessions and tokens.
package struct Accounts: Sendable {
    package let provider: AccountProvider
    package let database: Database
    package let keys: TokenKeys

    /// Nil if Sign in with Apple is not configured.
    package let apple: AppleSignIn?

    /// Nil if the server sends no mail.
    package let mail: MailPolicy?

    /// The most mails of a kind to one address in an hour, as a parameter of SQL functions; nil is unlimited.
    package let mailsPerHour: String?
    package let settings: Settings
    package let hasher: PasswordHasher
    package let metrics: HashingMetrics
    package let unreadableHashes: UnreadableHashes

    /// Checks whether sessions are active, with one query for concurrent checks.
    package let sessionChecks: RequestCoalescer<VerifiedToken, Bool>

    package init(
        provider: AccountProvider, database: Database, keys: TokenKeys, apple: AppleSignIn?, mail: MailPolicy?,
        mailsPerHour: String?, settings: Settings, hasher: PasswordHasher, metrics: HashingMetrics,
        unreadableHashes: UnreadableHashes, sessionChecks: RequestCoalescer<VerifiedToken, Bool>
    ) {
        self.provider = provider
        self.database = database
        self.keys = keys
        self.apple = apple
        self.mail = mail
        self.mailsPerHour = mailsPerHour
        self.settings = settings
        self.hasher = hasher
        self.metrics = metrics
        self.unreadableHashes = unreadableHashes
        self.sessionChecks = sessionChecks
    }

    package struct Settings: Sendable {
        package let issuer: String
        package let audience: String
        package let accessTokenSeconds: Int

        /// The key that refresh tokens are derived from.
        package let refreshKey: SymmetricKey

        /// The seconds after a refresh in which the previous token returns the same answer, for a client that lost it.
        package let refreshReuseSeconds: Int

        package init(
            issuer: String, audience: String, accessTokenSeconds: Int, refreshKey: SymmetricKey,
            refreshReuseSeconds: Int
        ) {
            self.issuer = issuer
            self.audience = audience
            self.accessTokenSeconds = accessTokenSeconds
            self.refreshKey = refreshKey
            self.refreshReuseSeconds = refreshReuseSeconds
        }
    }

    /// Creates an account.
    ///
    /// - Throws: `email_taken`, `username_taken`.
    package func register(
        email: String, password: String, username: String?, fullName: String
    ) async throws(ProtocolError) -> AuthenticatedAccount {
        try requireBuiltin()
        let hash = try await hashPassword(password)
        let rows = try await database.rows(
            Functions.register, [email, hash, username, fullName, String(mail != nil), mailsPerHour], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.register returned no id") }
        return AuthenticatedAccount(user: user, passwordHash: hash)
    }

    /// Verifies an email address and password.
    ///
    /// An unknown address takes the time of a wrong password and gets an identical error.
    ///
    /// - Throws: `invalid_credentials`.
    package func authenticate(email: String, password: String) async throws(ProtocolError) -> AuthenticatedAccount {
        guard let account = try await account(email: email) else {
            try await withHasher { hasher throws(PasswordHashingError) in
                try await hasher.verifyDummy(password)
            }
            throw .wrongCredentials
        }
        guard let hash = try await currentHash(account.passwordHash, of: account.id, matching: password) else {
            throw .wrongCredentials
        }
        return AuthenticatedAccount(user: account.id, passwordHash: hash)
    }

    /// Returns the hash that is stored now, or nil if the password does not match it.
    ///
    /// A hash that was imported from another server is replaced by one of ours. An unreadable one matches no password.
    private func currentHash(
        _ stored: String, of user: ID, matching password: String
    ) async throws(ProtocolError) -> String? {
        guard try await matches(password, stored, of: user) else { return nil }
        if PasswordHasher.isArgon2id(stored) { return stored }
        let hash = try await hashPassword(password)
        let rows = try await database.rows(Functions.renewHash, [user.description, stored, hash], as: .accounts)
        guard let now = rows.text(0, 0) else { return nil }
        // A concurrent sign-in has renewed the hash, or the password was changed.
        return now == hash ? hash : try await currentHash(now, of: user, matching: password)
    }

    private func matches(_ password: String, _ stored: String, of user: ID) async throws(ProtocolError) -> Bool {
        try await withHasher { hasher throws(PasswordHashingError) in
            do throws(PasswordHashingError) {
                return try await hasher.verify(password, against: stored)
            } catch .unreadableHash {
                unreadableHashes.report(user)
                return false
            }
        }
    }

    /// Returns the account with this address if it allows sign-in by password, otherwise nil.
    package func account(email: String) async throws(ProtocolError) -> (id: ID, passwordHash: String)? {
        try requireBuiltin()
        let rows = try await database.rows(Functions.credentials, [email], as: .accounts)
        guard rows.count == 1, let id = rows.id(0, 0), let hash = rows.text(0, 1) else { return nil }
        return (id, hash)
    }

    /// Creates a guest: an account that is accessible only through its session.
    package func createGuest(fullName: String?) async throws(ProtocolError) -> AuthenticatedAccount {
        try requireBuiltin()
        let rows = try await database.rows(Functions.guest, [fullName], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.guest returned no id") }
        return AuthenticatedAccount(user: user, passwordHash: nil)
    }

    /// Upgrades a guest to a full account with the same id.
    ///
    /// - Throws: `forbidden` if it is a full account already; `email_taken`.
    package func upgrade(
        _ guest: ID, email: String, password: String, fullName: String?
    ) async throws(ProtocolError) -> AuthenticatedAccount {
        try requireBuiltin()
        let hash = try await hashPassword(password)
        _ = try await database.rows(
            Functions.upgrade, [guest.description, email, hash, fullName, String(mail != nil), mailsPerHour],
            as: .accounts)
        return AuthenticatedAccount(user: guest, passwordHash: hash)
    }

    /// Changes the password and ends every other session of the user.
    ///
    /// - Returns: the number of sessions that ended.
    /// - Throws: `invalid_credentials` if `current` is not the password.
    package func changePassword(
        of token: VerifiedToken, from current: String, to new: String
    ) async throws(ProtocolError) -> Int {
        try requireBuiltin()
        let stored = try await verifiedHash(of: token.user, password: current, field: "current_password")
        let hash = try await hashPassword(new)
        let rows = try await database.rows(
            Functions.changePassword,
            [token.user.description, token.session?.description, stored, hash], as: .accounts)
        return try rows.count(of: "accounts.change_password")
    }

    /// Deletes the user and ends all its sessions. A tombstone stays.
    ///
    /// - Parameter password: nil for a guest, which has none.
    package func delete(_ user: ID, password: String?) async throws(ProtocolError) -> ByteBuffer {
        try requireBuiltin()
        let stored = try await verifiedHash(of: user, password: password, field: "password")
        return try await database.json(Functions.deleteUser, [user.description, stored], as: .accounts)
    }

    /// Returns the stored hash that the password matches, or nil for a guest without a password.
    ///
    /// - Parameter field: the request's param with the password.
    /// - Throws: `invalid_credentials` if the password is wrong; `invalid_params` if it is missing, or the account has
    ///   none.
    private func verifiedHash(
        of user: ID, password: String?, field: String
    ) async throws(ProtocolError) -> String? {
        let rows = try await database.rows(Functions.passwordHash, [user.description], as: .accounts)
        let stored = rows.text(0, 0)
        switch (stored, password) {
        case (nil, nil): return nil
        case (let stored?, let password?):
            guard let hash = try await currentHash(stored, of: user, matching: password) else {
                throw Self.wrongPassword(field)
            }
            return hash
        case (nil, _?): throw .invalid(field, "cannot be given: this account has none")
        case (_?, nil): throw .invalid(field, "is missing")
        }
    }

    /// Returns the stored hash that the password matches, or nil for an account without a password.
    ///
    /// - Throws: `invalid_credentials` if the password is wrong.
    func verifiedHash(of user: ID, password: String) async throws(ProtocolError) -> String? {
        let rows = try await database.rows(Functions.passwordHash, [user.description], as: .accounts)
        guard let stored = rows.text(0, 0) else { return nil }
        guard let hash = try await currentHash(stored, of: user, matching: password) else {
            throw Self.wrongPassword("password")
        }
        return hash
    }

    private static func wrongPassword(_ field: String) -> ProtocolError {
        ProtocolError(
            .invalidCredentials, "The password is wrong.", data: [.init(name: "field", value: .string(field))])
    }

    /// Merges the guest with this refresh token into the account.
    ///
    /// - Returns: `{"conversations","messages"}`.
    /// - Throws: `invalid_token` if the token is not a guest's or is no longer valid; `invalid_credentials` if the
    ///   account's password was changed since it was verified.
    package func merge(guestRefreshToken text: String, into account: AuthenticatedAccount) async throws(ProtocolError)
        -> JSON
    {
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

    /// Parses a guest's refresh token.
    ///
    /// - Throws: `invalid_token` if this server did not issue it.
    package func guestToken(_ text: String) throws(ProtocolError) -> RefreshToken {
        guard let token = RefreshToken(text, key: settings.refreshKey) else {
            throw ProtocolError(
                .invalidToken, "\"guest_refresh_token\" is not a guest's refresh token.",
                data: [.init(name: "field", value: .string("guest_refresh_token"))])
        }
        return token
    }

    /// - Throws: `forbidden` if another server keeps the accounts.
    func requireBuiltin() throws(ProtocolError) {
        guard provider == .builtin else {
            throw ProtocolError(
                .forbidden, "Another server keeps the accounts: sign in there, then send session.authenticate.")
        }
    }

    func hashPassword(_ password: String) async throws(ProtocolError) -> String {
        try await withHasher { hasher throws(PasswordHashingError) in try await hasher.hash(password) }
    }

    private func withHasher<Value>(
        _ work: (PasswordHasher) async throws(PasswordHashingError) -> Value
    ) async throws(ProtocolError) -> Value {
        do throws(PasswordHashingError) {
            return try await work(hasher)
        } catch {
            switch error {
            case .busy:
                metrics.recordRejection()
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
    /// Identical for an unknown address and a wrong password.
    fileprivate static let wrongCredentials = ProtocolError(
        .invalidCredentials, "The email address or the password is wrong.")
}
