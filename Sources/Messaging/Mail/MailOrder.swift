/// A mail that is to be sent: a row of `accounts.claim_mails`.
public struct MailOrder: Sendable {
    public let id: ID
    public let kind: Kind

    /// Where it goes.
    public let email: String

    /// Whose account it is about.
    public let user: ID

    /// A BCP 47 tag; nil where nothing is known of the user's language.
    public let locale: String?

    /// What it proves; nil where it proves nothing.
    public let token: String?

    /// How often it was tried before.
    public let attempts: Int

    public enum Kind: String, Sendable, CaseIterable {
        /// Whether the account's address is its holder's.
        case confirmEmail = "confirm_email"
        /// Whether the address that the account is to have is its holder's.
        case changeEmail = "change_email"
        /// A notice to the address that the account had.
        case emailChanged = "email_changed"
        /// What sets another password.
        case resetPassword = "reset_password"

        /// Whether it brings a token.
        public var hasToken: Bool {
            switch self {
            case .confirmEmail, .changeEmail, .resetPassword: true
            case .emailChanged: false
            }
        }
    }

    public init(id: ID, kind: Kind, email: String, user: ID, locale: String?, token: String?, attempts: Int) {
        self.id = id
        self.kind = kind
        self.email = email
        self.user = user
        self.locale = locale
        self.token = token
        self.attempts = attempts
    }
}

/// What became of a mail, with the reason where it was not taken.
public enum MailOutcome: Sendable, Equatable {
    /// It is on its way.
    case taken
    /// It will never be taken.
    case refused(String)
    /// It is to be tried again; after so long, where the mail server says it.
    case later(String, after: Duration?)
    /// It was tried for a day.
    case givenUp(String)

    /// What it is for a mail that had been tried so often: what was tried for a day is given up.
    public func settled(after attempts: Int) -> MailOutcome {
        guard case .later(let why, let told) = self else { return self }
        guard attempts + 1 < Self.tries else { return .givenUp(why) }
        // Who greylists wants to see the mail again in minutes.
        let next = min(Self.longestWait, .seconds(5 << min(attempts, 10)))
        return .later(why, after: min(Self.longestWait, max(told ?? .zero, next)))
    }

    /// 5 s, 10 s, … an hour: so many tries are a day.
    private static let tries = 33
    private static let longestWait = Duration.seconds(3_600)
}
