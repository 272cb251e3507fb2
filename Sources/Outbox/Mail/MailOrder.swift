package import Foundations

/// A mail to send: a row of `accounts.claim_mails`.
package struct MailOrder: Sendable {
    package let id: ID
    package let kind: Kind

    /// The recipient.
    package let email: String

    /// The user of the account.
    package let user: ID

    /// The user's language as a BCP 47 tag, or nil if unknown.
    package let locale: String?

    /// The token, or nil.
    package let token: String?

    /// The number of previous attempts.
    package let attempts: Int

    package enum Kind: String, Sendable, CaseIterable {
        /// Confirms that the account's address belongs to its user.
        case confirmEmail = "confirm_email"
        /// Confirms that the account's new address belongs to its user.
        case changeEmail = "change_email"
        /// Notifies the account's previous address.
        case emailChanged = "email_changed"
        /// Resets the password.
        case resetPassword = "reset_password"

        /// True if the mail contains a token.
        package var hasToken: Bool {
            switch self {
            case .confirmEmail, .changeEmail, .resetPassword: true
            case .emailChanged: false
            }
        }
    }

    package init(id: ID, kind: Kind, email: String, user: ID, locale: String?, token: String?, attempts: Int) {
        self.id = id
        self.kind = kind
        self.email = email
        self.user = user
        self.locale = locale
        self.token = token
        self.attempts = attempts
    }
}

/// The outcome of a mail, with the reason for a failure.
package enum MailOutcome: Sendable, Equatable {
    /// The mail was accepted.
    case accepted
    /// The mail was rejected permanently.
    case rejected(String)
    /// The mail must be retried, after the time that the server names, if any.
    case deferred(String, after: Duration?)
    /// The mail was abandoned after a day.
    case abandoned(String)

    /// Returns the outcome after that many attempts: a mail is abandoned after a day.
    package func settled(after attempts: Int) -> MailOutcome {
        guard case .deferred(let why, let requested) = self else { return self }
        guard attempts + 1 < Self.tries else { return .abandoned(why) }
        // Greylisting servers expect the mail again within minutes.
        let next = min(Self.longestWait, .seconds(5 << min(attempts, 10)))
        return .deferred(why, after: min(Self.longestWait, max(requested ?? .zero, next)))
    }

    /// With waits of 5 s, 10 s, … an hour, this many attempts take a day.
    private static let tries = 33
    private static let longestWait = Duration.seconds(3_600)
}
