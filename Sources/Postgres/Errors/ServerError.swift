/// An error as PostgreSQL reported it.
///
/// Source: the fields of `PQresultErrorField`. Which of the optional ones are set depends on the error.
public struct ServerError: Error, Sendable, Hashable {
    /// `ERROR`, `FATAL` or `PANIC`, never translated; after the last two the connection is gone.
    public var severity: String
    /// What went wrong, by code.
    public var sqlState: SQLState
    /// What went wrong, in a sentence.
    public var message: String
    /// More about it. It may hold values of the statement, so it has no place in a log.
    public var detail: String?
    /// What to do about it.
    public var hint: String?
    /// Where in the SQL the error is, counted in characters from 1.
    public var position: Int?
    /// The call stack in the server: functions, triggers.
    public var context: String?
    public var schema: String?
    public var table: String?
    public var column: String?
    public var constraint: String?
    /// The function of PostgreSQL's source that reported it.
    public var routine: String?

    /// An error with its code and sentence; the rest is set by those who know it.
    public init(severity: String = "ERROR", sqlState: SQLState, message: String) {
        self.severity = severity
        self.sqlState = sqlState
        self.message = message
    }

    /// Whether the server ended the connection with this error.
    public var endsConnection: Bool { severity == "FATAL" || severity == "PANIC" }
}

extension ServerError {
    /// The sentence, fit for a log: that of a data exception (class 22) quotes the value, which may be what a user
    /// wrote, so that what stands between its first and its last quotation mark is left out.
    public var loggableMessage: String {
        guard sqlState.rawValue.hasPrefix("22"), let first = message.firstIndex(of: "\""),
            let last = message.lastIndex(of: "\""), first < last
        else { return message }
        return "\(message[...first])…\(message[last...])"
    }
}

extension ServerError: CustomStringConvertible {
    /// Code, sentence, hint and position: not the detail, which may hold what a user wrote.
    public var description: String {
        var text = "\(severity) \(sqlState): \(loggableMessage)"
        if let position { text += " (at character \(position))" }
        if let hint { text += " Hint: \(hint)" }
        return text
    }
}

extension ServerError {
    /// The statement was prepared for tables or functions that have changed shape since, or is not known to this
    /// backend any more: nothing was done, and a new connection does better.
    var tellsOfStalePlan: Bool {
        sqlState == .invalidStatementName || (sqlState == .featureNotSupported && routine == "RevalidateCachedQuery")
    }
}
