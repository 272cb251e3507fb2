/// Why a run or a connection failed.
public enum PostgresError: Error, Sendable {
    /// PostgreSQL refused a statement; the whole run was rolled back.
    indirect case server(ServerError)
    /// No connection came to be. The text is libpq's or ours, in a sentence or two, without a password.
    case connectFailed(String)
    /// The connection ended before the answer was whole.
    ///
    /// `sent` is false when nothing of the run was handed to the operating system: then nothing was done. When it is
    /// true nobody knows: the run may have been committed.
    case connectionLost(sent: Bool, String)
    /// The pool had no connection to give within its bound, or knows that the database is away. Nothing was done.
    case unavailable(String)
    /// The request's owner has used up its share of the pool. Nothing was done.
    case shareExceeded(retryAfter: Duration)
    /// The deadline passed; the statement was asked to stop and the connection given up. It may have been committed.
    case deadlineExceeded
    /// The task was cancelled; as with the deadline, what was under way may have been committed.
    case cancelled
    /// The request cannot be sent: a NUL character in a parameter, too many parameters, one name for two statements.
    case refused(String)
}

extension PostgresError {
    /// The error of the server, where it is one.
    public var serverError: ServerError? {
        if case .server(let error) = self { error } else { nil }
    }

    /// Whether the same run may be tried again without doing anything twice, and with hope.
    var isTransient: Bool {
        switch self {
        case .server(let error):
            error.sqlState == .serializationFailure || error.sqlState == .deadlockDetected || error.tellsOfStalePlan
        case .connectionLost(let sent, _): !sent
        case .connectFailed, .unavailable, .shareExceeded, .deadlineExceeded, .cancelled, .refused: false
        }
    }
}

extension PostgresError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .server(let error): error.description
        case .connectFailed(let reason): "no connection to PostgreSQL: \(reason)"
        case .connectionLost(sent: true, let reason): "connection lost before the answer: \(reason)"
        case .connectionLost(sent: false, let reason): "connection lost before anything was sent: \(reason)"
        case .unavailable(let reason): "PostgreSQL is unavailable: \(reason)"
        case .shareExceeded(let wait): "the request's owner has used up its share of the pool, for \(wait)"
        case .deadlineExceeded: "the deadline passed before PostgreSQL answered"
        case .cancelled: "cancelled before PostgreSQL answered"
        case .refused(let reason): "not sent to PostgreSQL: \(reason)"
        }
    }
}
