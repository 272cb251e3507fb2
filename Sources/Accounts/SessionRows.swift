import DatabaseAccess
import Foundations
import Postgres

/// The claims about the account in a session's tokens: the first columns of a row.
struct AccountClaims: Sendable {
    let email: String
    let phone: String
    let isGuest: Bool

    /// A JSON object as text.
    let appMetadata: String?

    fileprivate init(_ rows: Rows) {
        email = rows.text(0, 0) ?? ""
        phone = rows.text(0, 1) ?? ""
        isGuest = rows.text(0, 2) == "t"
        appMetadata = rows.text(0, 3)
    }
}

/// A new session: a row of `accounts.open_session`.
struct OpenedSession: Sendable {
    let account: AccountClaims
    let generation: Int32

    /// Parameters: the session, the user, and the hash that the password was verified against.
    static let statement = Statement(
        "accounts.open_session",
        """
        select email, phone, is_anonymous, app_metadata, generation \
        from accounts.open_session($1::uuid, $2::uuid, $3)
        """)

    /// Fails if there is no row.
    init?(_ rows: Rows) {
        guard rows.count == 1, let generation = rows.text(0, 4).flatMap({ Int32($0) }) else { return nil }
        account = AccountClaims(rows)
        self.generation = generation
    }
}

/// The outcome of a refresh: a row of `accounts.refresh`.
enum RefreshOutcome: Sendable {
    case active(AccountClaims, user: ID, generation: Int32)
    case revoked
    case unknown

    /// Parameters: the session, the token's generation, and the seconds in which the previous token stays valid.
    static let statement = Statement(
        "accounts.refresh",
        """
        select email, phone, is_anonymous, app_metadata, outcome, user_id, active_generation \
        from accounts.refresh($1::uuid, $2::integer, $3::integer)
        """)

    /// Fails if there is no row, or its outcome is unknown.
    init?(_ rows: Rows) {
        guard rows.count == 1 else { return nil }
        switch rows.text(0, 4) {
        case "active":
            guard let user = rows.id(0, 5), let generation = rows.text(0, 6).flatMap({ Int32($0) }) else { return nil }
            self = .active(AccountClaims(rows), user: user, generation: generation)
        case "revoked": self = .revoked
        case "unknown": self = .unknown
        default: return nil
        }
    }
}
