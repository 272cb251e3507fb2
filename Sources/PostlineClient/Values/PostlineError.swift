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
    public struct Code: OpenName {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let parseError: Self = "parse_error"
        public static let invalidUTF8: Self = "invalid_utf8"
        public static let invalidRequest: Self = "invalid_request"
        public static let unknownMethod: Self = "unknown_method"
        public static let invalidParams: Self = "invalid_params"
        public static let internalError: Self = "internal_error"
        public static let unauthenticated: Self = "unauthenticated"
        public static let invalidCredentials: Self = "invalid_credentials"
        public static let invalidToken: Self = "invalid_token"
        public static let tokenExpired: Self = "token_expired"
        public static let sessionRevoked: Self = "session_revoked"
        public static let forbidden: Self = "forbidden"
        public static let notFound: Self = "not_found"
        public static let usernameTaken: Self = "username_taken"
        public static let emailTaken: Self = "email_taken"
        public static let versionConflict: Self = "version_conflict"
        public static let clientIDReused: Self = "client_id_reused"
        public static let lineTooLong: Self = "line_too_long"
        public static let usernameCooldown: Self = "username_cooldown"
        public static let rateLimited: Self = "rate_limited"
        public static let unavailable: Self = "unavailable"
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
