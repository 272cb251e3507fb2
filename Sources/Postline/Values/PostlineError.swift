public import Foundation

/// An error of the server or of this package.
public struct PostlineError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The stable name to switch on.
    public let code: Code
    /// The error in a sentence, for the log.
    public let message: String
    /// True if the same call may succeed later.
    public let isRetryable: Bool
    /// The path of the refused field, by the protocol's names (`avatar.avatar_id`).
    public let field: String?
    /// The seconds until a retry may succeed, if the server states them.
    public let retryAfter: Double?
    /// The time at which a retry may succeed, if the server states it.
    public let retryAt: Date?

    /// Creates an error, for apps and their tests.
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

    /// The error as `code: message`.
    public var description: String { "\(code): \(message)" }

    /// The code of an error, from the protocol (`docs/protocol.md`, section 2) or from this package.
    public struct Code: ExtensibleEnum {
        /// The protocol's name.
        public let rawValue: String
        /// Creates a value from the protocol's name, known to this version or not.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request was not JSON.
        public static let parseError: Self = "parse_error"
        /// The request was not UTF-8.
        public static let invalidUTF8: Self = "invalid_utf8"
        /// The request is not valid, or not valid now. ``PostlineError/message`` says why.
        public static let invalidRequest: Self = "invalid_request"
        /// The server is older than this package and does not have the method.
        public static let unknownMethod: Self = "unknown_method"
        /// A value is missing or out of range. ``PostlineError/field`` names it.
        public static let invalidParams: Self = "invalid_params"
        /// An internal error of the server.
        public static let internalError: Self = "internal_error"
        /// The connection is not authenticated.
        public static let unauthenticated: Self = "unauthenticated"
        /// The address or the password is wrong.
        public static let invalidCredentials: Self = "invalid_credentials"
        /// The token is not one of this server's.
        public static let invalidToken: Self = "invalid_token"
        /// The token has expired.
        public static let tokenExpired: Self = "token_expired"
        /// The session has ended: the user signed out elsewhere, or the account was disabled or deleted.
        public static let sessionRevoked: Self = "session_revoked"
        /// The user may see the object but not do this.
        public static let forbidden: Self = "forbidden"
        /// The object does not exist, or the user may not see it.
        public static let notFound: Self = "not_found"
        /// Another user has the username, or it is reserved for its previous user.
        public static let usernameTaken: Self = "username_taken"
        /// Another account has the address.
        public static let emailTaken: Self = "email_taken"
        /// The account's address must first be confirmed, by the mail that the server sent.
        public static let emailUnconfirmed: Self = "email_unconfirmed"
        /// The account is suspended, until ``PostlineError/retryAt`` or for good.
        public static let accountSuspended: Self = "account_suspended"
        /// The text has a word that the operator does not allow. ``PostlineError/field`` names the text.
        public static let contentRefused: Self = "content_refused"
        /// The object was changed meanwhile.
        public static let versionConflict: Self = "version_conflict"
        /// The id was used before for another message.
        public static let clientIDReused: Self = "client_id_reused"
        /// The request is longer than the server allows.
        public static let lineTooLong: Self = "line_too_long"
        /// The username was changed less than 90 days ago. ``PostlineError/retryAt`` says when it may be changed again.
        public static let usernameCooldown: Self = "username_cooldown"
        /// Too many requests. ``PostlineError/retryAfter`` says how long to wait.
        public static let rateLimited: Self = "rate_limited"
        /// The server cannot reach its database.
        public static let unavailable: Self = "unavailable"
        /// The request exceeded the server's time limit.
        public static let timeout: Self = "timeout"

        /// There is no connection to the server. The server may have executed the request.
        public static let offline: Self = "offline"
        /// No user is signed in on this device.
        public static let signedOut: Self = "signed_out"
        /// The server is not a Postline server, or its certificate is not trusted.
        public static let notTrusted: Self = "not_trusted"
        /// The server's response cannot be decoded.
        public static let malformedAnswer: Self = "malformed_answer"
        /// The task was cancelled. The server may have executed the request; the store is unchanged.
        public static let cancelled: Self = "cancelled"
        /// The device's store cannot be used.
        public static let storeUnusable: Self = "store_unusable"
        /// The server does not have the message yet, so it cannot be changed or answered.
        public static let notSent: Self = "not_sent"
        /// Too many files wait in the outbox (``FileLimits``).
        public static let outboxFull: Self = "outbox_full"
        /// A file has more bytes than ``FileLimits`` allows.
        public static let fileTooLarge: Self = "file_too_large"
    }
}
