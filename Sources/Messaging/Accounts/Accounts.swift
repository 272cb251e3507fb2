internal import Crypto
internal import FoundationEssentials
internal import NIOCore
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
    let figures: HashingMetrics

    /// Whether sessions are in use; those that are asked for at once are asked for together.
    let sessionChecks: Gathering<VerifiedToken, Bool>

    struct Settings: Sendable {
        let issuer: String
        let audience: String
        let accessTokenSeconds: Int

        /// From which refresh tokens are derived.
        let refreshKey: SymmetricKey

        /// For how long after a refresh the token before it still gets the same answer, for a client that lost it.
        var refreshReuseSeconds = 30
    }

    /// Makes an account.
    func register(
        email: String, password: String, username: String?, fullName: String
    ) async throws(ProtocolError) -> ID {
        try requireBuiltin()
        let hash = try await hashed(password)
        let rows = try await database.rows(Functions.register, [email, hash, username, fullName], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.register returned no id") }
        return user
    }

    /// Whose account it is, by email and password.
    ///
    /// An unknown address costs the time of a wrong password, and is answered with the same bytes.
    func holder(email: String, password: String) async throws(ProtocolError) -> ID {
        guard let account = try await account(email: email) else {
            try await hashing { hasher throws(PasswordHashingError) in try await hasher.verifyAgainstNothing(password) }
            throw .wrongCredentials
        }
        guard try await hash(account.passwordHash, of: account.id, matching: password) != nil else {
            throw .wrongCredentials
        }
        return account.id
    }

    /// The stored hash where the password is the one it was made of, else nil.
    ///
    /// A bcrypt hash that came with a Supabase database is verified by PostgreSQL, once, and replaced.
    private func hash(
        _ stored: String, of user: ID, matching password: String
    ) async throws(ProtocolError) -> String? {
        guard stored.hasPrefix("$2") else {
            let matches = try await hashing { hasher throws(PasswordHashingError) in
                try await hasher.verify(password, against: stored)
            }
            return matches ? stored : nil
        }
        let rows = try await database.rows(Functions.isBcryptOf, [stored, password], as: .accounts)
        guard rows.text(0, 0) == "t" else { return nil }
        let hash = try await hashed(password)
        _ = try await database.rows(Functions.replaceHash, [user.description, stored, hash], as: .accounts)
        return hash
    }

    /// The account with that address that one can sign in to by password.
    func account(email: String) async throws(ProtocolError) -> (id: ID, passwordHash: String)? {
        try requireBuiltin()
        let rows = try await database.rows(Functions.credentials, [email], as: .accounts)
        guard rows.count == 1, let id = rows.id(0, 0), let hash = rows.text(0, 1) else { return nil }
        return (id, hash)
    }

    /// Makes a guest: an account that its session alone leads to.
    func guest(fullName: String?) async throws(ProtocolError) -> ID {
        try requireBuiltin()
        let rows = try await database.rows(Functions.guest, [fullName], as: .accounts)
        guard let user = rows.id(0, 0) else { throw .fault("accounts.guest returned no id") }
        return user
    }

    /// Makes a guest a full account of the same id.
    ///
    /// - Throws: `forbidden` where it is one already, `email_taken`.
    func upgrade(
        _ guest: ID, email: String, password: String, fullName: String?
    ) async throws(ProtocolError) {
        try requireBuiltin()
        let hash = try await hashed(password)
        _ = try await database.rows(
            Functions.upgrade, [guest.description, email, hash, fullName], as: .accounts)
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
        case (nil, _?): throw .invalid(field, "cannot be given: a guest has none")
        case (_?, nil): throw .invalid(field, "is missing")
        }
    }

    /// Brings the guest whose refresh token this is into the account.
    ///
    /// - Returns: what came over with it: `{"conversations","messages"}`.
    /// - Throws: `invalid_token` where it is no guest's, or is not taken any more.
    func merge(guestRefreshToken text: String, into account: ID) async throws(ProtocolError) -> JSON {
        guard let token = RefreshToken(text, key: settings.refreshKey) else {
            throw ProtocolError(
                .invalidToken, "\"guest_refresh_token\" is no guest's token.",
                data: [.init(name: "field", value: .string("guest_refresh_token"))])
        }
        let rows = try await database.rows(
            Functions.mergeGuest,
            [
                account.description, token.session.description, String(token.generation),
                String(settings.refreshReuseSeconds),
            ], as: .accounts)
        guard let text = rows.text(0, 0), let merged = try? JSON(parsing: text) else {
            throw .fault("accounts.merge_guest returned no object")
        }
        return merged
    }

    func requireBuiltin() throws(ProtocolError) {
        guard keeper == .builtin else {
            throw ProtocolError(
                .forbidden, "Accounts are kept by another server here: sign in there, then send session.authenticate.")
        }
    }

    private func hashed(_ password: String) async throws(ProtocolError) -> String {
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
                figures.refused()
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
        static let isBcryptOf = Statement("accounts.is_bcrypt_of", "select accounts.is_bcrypt_of($1, $2)")
        static let replaceHash = Statement("accounts.replace_hash", "select accounts.replace_hash($1::uuid, $2, $3)")
        static let passwordHash = Statement("accounts.password_hash", "select accounts.password_hash($1::uuid)")
        static let guest = Statement("accounts.guest", "select accounts.guest($1)")
        static let upgrade = Statement("accounts.upgrade", "select accounts.upgrade($1::uuid, $2, $3, $4)")
        static let changePassword = Statement(
            "accounts.change_password", "select accounts.change_password($1::uuid, $2::uuid, $3, $4)")
        static let deleteUser = Statement("accounts.delete_user", "select accounts.delete_user($1::uuid, $2)")
        static let mergeGuest = Statement(
            "accounts.merge_guest", "select accounts.merge_guest($1::uuid, $2::uuid, $3::integer, $4::integer)")
    }
}

extension Rows {
    func id(_ row: Int, _ column: Int) -> ID? { text(row, column).flatMap { ID($0) } }

    /// The number that a function returned.
    func count(of function: String) throws(ProtocolError) -> Int {
        guard count == 1, let number = text(0, 0).flatMap({ Int($0) }) else {
            throw .fault("\(function) returned no number")
        }
        return number
    }
}

extension ProtocolError {
    /// The same bytes whether there is such an account or not.
    fileprivate static let wrongCredentials = ProtocolError(
        .invalidCredentials, "The email address or the password is wrong.")
}
