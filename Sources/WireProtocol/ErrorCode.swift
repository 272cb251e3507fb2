/// The stable name of an error, `error.data.code` on the wire (`docs/protocol.md`, section 2).
///
/// The single table of the protocol's errors: name, class, HTTP status, and whether a retry may succeed.
package enum ErrorCode: String, CaseIterable, Sendable {
    case parseError = "parse_error"
    case invalidUTF8 = "invalid_utf8"
    case invalidRequest = "invalid_request"
    case unknownMethod = "unknown_method"
    case invalidParams = "invalid_params"
    case internalError = "internal_error"
    case unauthenticated
    case invalidCredentials = "invalid_credentials"
    case invalidToken = "invalid_token"
    case tokenExpired = "token_expired"
    case sessionRevoked = "session_revoked"
    case forbidden
    case emailUnconfirmed = "email_unconfirmed"
    case accountSuspended = "account_suspended"
    case contentRefused = "content_refused"
    case notFound = "not_found"
    case usernameTaken = "username_taken"
    case emailTaken = "email_taken"
    case versionConflict = "version_conflict"
    case clientIDReused = "client_id_reused"
    case lineTooLong = "line_too_long"
    case usernameCooldown = "username_cooldown"
    case rateLimited = "rate_limited"
    case unavailable
    case timeout

    /// The class of the error, `error.code` on the wire: a JSON-RPC 2.0 code or an HTTP status.
    package var number: Int {
        switch self {
        case .parseError, .invalidUTF8: -32700
        case .invalidRequest: -32600
        case .unknownMethod: -32601
        case .invalidParams: -32602
        case .internalError: -32603
        case .unauthenticated, .invalidCredentials, .invalidToken, .tokenExpired, .sessionRevoked: 401
        case .forbidden, .emailUnconfirmed, .accountSuspended, .contentRefused: 403
        case .notFound: 404
        case .usernameTaken, .emailTaken, .versionConflict, .clientIDReused: 409
        case .lineTooLong: 413
        case .usernameCooldown, .rateLimited: 429
        case .unavailable: 503
        case .timeout: 504
        }
    }

    /// The HTTP status of the response.
    package var httpStatus: Int {
        switch number {
        case ErrorCode.unknownMethod.number: 404
        case ErrorCode.internalError.number: 500
        case ..<0: 400
        default: number
        }
    }

    /// True if the unchanged request may succeed later.
    package var isRetryable: Bool {
        switch self {
        case .usernameCooldown, .rateLimited, .unavailable, .timeout: true
        case .parseError, .invalidUTF8, .invalidRequest, .unknownMethod, .invalidParams, .internalError,
            .unauthenticated, .invalidCredentials, .invalidToken, .tokenExpired, .sessionRevoked, .forbidden,
            .emailUnconfirmed, .accountSuspended, .contentRefused, .notFound, .usernameTaken, .emailTaken,
            .versionConflict, .clientIDReused, .lineTooLong:
            false
        }
    }
}
