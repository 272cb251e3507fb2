/// The reason why a run or a connection failed.
package enum PostgresError: Error, Sendable {
    /// PostgreSQL refused a statement; the whole run was rolled back.
    indirect case server(ServerError)
    /// No connection was made. The text has a sentence or two, without a password.
    case connectFailed(String)
    /// The connection ended before the response was complete.
    ///
    /// If `sent` is false, nothing was handed to the operating system, so nothing was done. If it is true, the outcome
    /// is unknown: the run may have been committed.
    case connectionLost(sent: Bool, String)
    /// The pool had no free connection in time, or the database is unreachable. Nothing was done.
    case unavailable(String)
    /// The owner of the request has used up its share of the pool. Nothing was done.
    case shareExceeded(retryAfter: Duration)
    /// The deadline passed. The statement was cancelled and the connection closed. It may have been committed.
    case deadlineExceeded
    /// The task was cancelled. As with the deadline, a running statement may have been committed.
    case cancelled
    /// The request is invalid: a NUL character in a parameter, too many parameters, or one name for two statements.
    case refused(String)
}

extension PostgresError {
    /// The server's error, if it is one.
    package var serverError: ServerError? {
        if case .server(let error) = self { error } else { nil }
    }

    /// True if the run can be retried without doing anything twice, and may succeed.
    var isTransient: Bool {
        switch self {
        case .server(let error):
            error.sqlState == .serializationFailure || error.sqlState == .deadlockDetected || error.indicatesStalePlan
        case .connectionLost(let sent, _): !sent
        case .connectFailed, .unavailable, .shareExceeded, .deadlineExceeded, .cancelled, .refused: false
        }
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .server(let error): error.description
        case .connectFailed(let reason): "no connection to PostgreSQL: \(reason)"
        case .connectionLost(sent: true, let reason): "connection lost before the response: \(reason)"
        case .connectionLost(sent: false, let reason): "connection lost before anything was sent: \(reason)"
        case .unavailable(let reason): "PostgreSQL is unavailable: \(reason)"
        case .shareExceeded(let wait): "the request's owner has exceeded its share of the pool; retry after \(wait)"
        case .deadlineExceeded: "deadline exceeded before PostgreSQL responded"
        case .cancelled: "cancelled before PostgreSQL responded"
        case .refused(let reason): "not sent to PostgreSQL: \(reason)"
        }
    }
}
