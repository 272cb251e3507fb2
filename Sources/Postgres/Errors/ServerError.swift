/// An error as PostgreSQL reported it.
///
/// Source: the fields of `PQresultErrorField`. Which of the optional ones are set depends on the error.
package struct ServerError: Error, Sendable, Hashable {
    /// `ERROR`, `FATAL` or `PANIC`, never translated; after the last two the connection is gone.
    package var severity: String
    /// The error code.
    package var sqlState: SQLState
    /// The primary message.
    package var message: String
    /// Details. They may contain values of the statement and must not be logged.
    package var detail: String?
    /// A hint how to solve the problem.
    package var hint: String?
    /// The position of the error in the SQL, in characters from 1.
    package var position: Int?
    /// The call stack in the server: functions, triggers.
    package var context: String?
    package var schema: String?
    package var table: String?
    package var column: String?
    package var constraint: String?
    /// The function in PostgreSQL's source that reported the error.
    package var routine: String?

    /// Creates an error with its code and message; the other fields are set later.
    package init(severity: String = "ERROR", sqlState: SQLState, message: String) {
        self.severity = severity
        self.sqlState = sqlState
        self.message = message
    }

    /// True if the server ended the connection with this error.
    package var endsConnection: Bool { severity == "FATAL" || severity == "PANIC" }
}

extension ServerError {
    /// The message for logs. A data exception (class 22) quotes the value, which a user may have written, so the text
    /// between its first and last quotation mark is removed.
    package var loggableMessage: String {
        guard sqlState.rawValue.hasPrefix("22"), let first = message.firstIndex(of: "\""),
            let last = message.lastIndex(of: "\""), first < last
        else { return message }
        return "\(message[...first])…\(message[last...])"
    }
}

extension ServerError: CustomStringConvertible {
    /// Code, message, hint and position, without the details, which may contain a user's text.
    package var description: String {
        var text = "\(severity) \(sqlState): \(loggableMessage)"
        if let position { text += " (at character \(position))" }
        if let hint { text += " Hint: \(hint)" }
        return text
    }
}

extension ServerError {
    /// True if the statement was prepared for tables or functions that have changed since, or is unknown to this
    /// backend: nothing was done, and a new connection will succeed.
    var indicatesStalePlan: Bool {
        sqlState == .invalidStatementName || (sqlState == .featureNotSupported && routine == "RevalidateCachedQuery")
    }
}
