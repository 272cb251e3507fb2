public import Foundation

/// What went wrong, as the server or this package says it.
public struct PostlineError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The stable name to switch on.
    public let code: Code
    /// A sentence for a person.
    public let message: String
    /// Whether the same may succeed later, unchanged.
    public let isRetryable: Bool
    /// The field that it is about, by the protocol's name, with its path (`avatar.avatar_id`).
    public let field: String?
    /// In how many seconds to try again, where it is told.
    public let retryAfter: Double?
    /// When to try again, where it is told.
    public let retryAt: Date?

    /// An error as an app or a test makes one up.
    public init(
        _ code: Code, _ message: String, isRetryable: Bool = false, field: String? = nil, retryAfter: Double? = nil,
        retryAt: Date? = nil
    ) {
        self.code = code
        self.message = message
        self.isRetryable = isRetryable
        self.field = field
        self.retryAfter = retryAfter
        self.retryAt = retryAt
    }

    /// `code: message`.
    public var description: String { "\(code): \(message)" }

    /// An error's name: those of the protocol (`docs/protocol.md`, section 2), and those that arise on the device.
    public struct Code: OpenEnum {
        /// The protocol's word.
        public let rawValue: String
        /// Takes the protocol's word, whether this version knows it or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// What was sent is no JSON.
        public static let parseError: Self = "parse_error"
        /// What was sent is no UTF-8.
        public static let invalidUTF8: Self = "invalid_utf8"
        /// The request is none that can be made, or not now: ``PostlineError/message`` says why.
        public static let invalidRequest: Self = "invalid_request"
        /// The server is older than this package, and does not know the method.
        public static let unknownMethod: Self = "unknown_method"
        /// A value is missing or out of its range; ``PostlineError/field`` names it.
        public static let invalidParams: Self = "invalid_params"
        /// A fault of the server.
        public static let internalError: Self = "internal_error"
        /// The connection is not signed in.
        public static let unauthenticated: Self = "unauthenticated"
        /// The address or the password is wrong, or the account is banned.
        public static let invalidCredentials: Self = "invalid_credentials"
        /// The token is none that this server gave.
        public static let invalidToken: Self = "invalid_token"
        /// The token's time is over.
        public static let tokenExpired: Self = "token_expired"
        /// The session has ended: signed out elsewhere, banned, or deleted.
        public static let sessionRevoked: Self = "session_revoked"
        /// The user may see it and not do this to it.
        public static let forbidden: Self = "forbidden"
        /// There is no such thing, or the user may not know of it.
        public static let notFound: Self = "not_found"
        /// Another user has that username, or it is held for who had it.
        public static let usernameTaken: Self = "username_taken"
        /// Another account has that address.
        public static let emailTaken: Self = "email_taken"
        /// The account's address must be confirmed first, by the mail that was sent to it.
        public static let emailUnconfirmed: Self = "email_unconfirmed"
        /// It was changed by another meanwhile.
        public static let versionConflict: Self = "version_conflict"
        /// The id of a message was used before, for another message.
        public static let clientIDReused: Self = "client_id_reused"
        /// The request is longer than the server reads.
        public static let lineTooLong: Self = "line_too_long"
        /// The username was changed less than 90 days ago; ``PostlineError/retryAt`` says when it may be again.
        public static let usernameCooldown: Self = "username_cooldown"
        /// Too many for now; ``PostlineError/retryAfter`` says for how long.
        public static let rateLimited: Self = "rate_limited"
        /// The server cannot reach its database.
        public static let unavailable: Self = "unavailable"
        /// The server took too long.
        public static let timeout: Self = "timeout"

        /// There is no connection to the server; what was asked may have been done or not.
        public static let offline: Self = "offline"
        /// Nobody is signed in on this device.
        public static let signedOut: Self = "signed_out"
        /// What answers is no Postline server, or one that nobody vouches for.
        public static let notTrusted: Self = "not_trusted"
        /// The server's answer cannot be understood.
        public static let malformedAnswer: Self = "malformed_answer"
        /// The device's store cannot be used.
        public static let storeUnusable: Self = "store_unusable"
    }
}
