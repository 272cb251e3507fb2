package import Postgres
package import WireProtocol

extension ProtocolError {
    /// Maps a database error to a protocol error. This is the only table from SQLSTATE to protocol errors.
    ///
    /// The class `PL` is our own: `sql/` raises it with a sentence as message, and further members of `error.data` as
    /// JSON in the detail.
    package init(_ error: PostgresError) {
        switch error {
        case .server(let error): self.init(error)
        case .deadlineExceeded: self = .timeout
        case .connectFailed, .connectionLost, .unavailable, .cancelled: self = .unavailable
        case .shareExceeded(let wait):
            self = .rateLimited("Too many of your requests wait for the database.", retryAfter: wait)
        case .refused(let what): self = .fault(what)
        }
    }

    private init(_ error: ServerError) {
        let state = error.sqlState.rawValue
        if let code = Self.ownCodes[state] {
            self.init(code, error.message, data: Self.members(of: error.detail))
            return
        }
        switch error.sqlState {
        case .queryCanceled, .lockNotAvailable: self = .timeout
        case .serializationFailure, .deadlockDetected: self = .unavailable
        // The server is a standby after a failover, or writes were stopped. Nothing was done.
        case .readOnlyTransaction: self = .init(.unavailable, "The database accepts no writes now. Try again.")
        case .uniqueViolation where error.constraint == "messages_client_id_key":
            self.init(.clientIDReused, error.message)
        case .checkViolation where error.field != nil:
            self = .invalid(error.field ?? "", "is not valid")
        case _ where state.hasPrefix("08") || state.hasPrefix("57P") || state.hasPrefix("53"):
            self = .unavailable
        default:
            self = .fault("\(state): \(error.loggableMessage)")
        }
    }

    private static let ownCodes: [String: ErrorCode] = [
        "PL001": .invalidParams, "PL002": .unauthenticated, "PL003": .invalidCredentials, "PL004": .invalidToken,
        "PL005": .tokenExpired, "PL006": .sessionRevoked, "PL007": .forbidden, "PL008": .notFound,
        "PL009": .usernameTaken, "PL010": .emailTaken, "PL011": .versionConflict, "PL012": .clientIDReused,
        "PL013": .usernameCooldown, "PL014": .rateLimited, "PL015": .unavailable,
        "PL016": .accountSuspended, "PL017": .contentRefused,
    ]

    private static func members(of detail: String?) -> [JSONObject.Member] {
        guard let detail, case .object(let object)? = try? JSON(parsing: detail) else { return [] }
        return object.members
    }
}

extension ServerError {
    /// The field of a check constraint, which is named `<table>_<field>_valid`.
    fileprivate var field: String? {
        guard let constraint, constraint.hasSuffix("_valid") else { return nil }
        let tables = ["user_private_", "conversations_", "conversation_members_", "messages_"]
        guard let table = tables.first(where: { constraint.hasPrefix($0) }) else { return nil }
        return String(constraint.dropFirst(table.count).dropLast("_valid".count))
    }
}
