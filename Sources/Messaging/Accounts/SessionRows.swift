internal import Postgres

/// What a session's tokens say of its account, in a row's first columns.
struct AccountClaims: Sendable {
    let email: String
    let phone: String
    let isGuest: Bool

    /// An object as JSON text.
    let appMetadata: String?

    fileprivate init(_ rows: Rows) {
        email = rows.text(0, 0) ?? ""
        phone = rows.text(0, 1) ?? ""
        isGuest = rows.text(0, 2) == "t"
        appMetadata = rows.text(0, 3)
    }
}

/// A session that was just opened: the row of `accounts.open_session`.
struct OpenedSession: Sendable {
    let account: AccountClaims
    let generation: Int32

    /// Takes the session, the user and the hash that the password was verified against.
    static let statement = Statement(
        "accounts.open_session",
        """
        select email, phone, is_anonymous, app_metadata, generation \
        from accounts.open_session($1::uuid, $2::uuid, $3)
        """)

    /// Nil where there is none.
    init?(_ rows: Rows) {
        guard rows.count == 1, let generation = rows.text(0, 4).flatMap({ Int32($0) }) else { return nil }
        account = AccountClaims(rows)
        self.generation = generation
    }
}

/// What became of a refresh: the row of `accounts.refresh`.
enum RefreshOutcome: Sendable {
    case active(AccountClaims, user: ID, generation: Int32)
    case revoked
    case unknown

    /// Takes the session, the token's generation, and for how many seconds the one before still counts.
    static let statement = Statement(
        "accounts.refresh",
        """
        select email, phone, is_anonymous, app_metadata, outcome, user_id, active_generation \
        from accounts.refresh($1::uuid, $2::integer, $3::integer)
        """)

    /// Nil where it is none of these.
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
