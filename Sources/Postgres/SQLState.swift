/// The five characters by which PostgreSQL names an error, the same in every language and version.
///
/// Source: PostgreSQL's documentation, appendix A. A service may raise codes of its own.
public struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code, for instance `23505`.
    public let rawValue: String

    /// The state with this code; any text is taken.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The first two characters, which name a family of errors: `08` is trouble with the connection.
    public var family: String { String(rawValue.prefix(2)) }

    public var description: String { rawValue }
}

extension SQLState {
    public static let featureNotSupported = SQLState(rawValue: "0A000")
    public static let invalidTextRepresentation = SQLState(rawValue: "22P02")
    public static let notNullViolation = SQLState(rawValue: "23502")
    public static let foreignKeyViolation = SQLState(rawValue: "23503")
    public static let uniqueViolation = SQLState(rawValue: "23505")
    public static let checkViolation = SQLState(rawValue: "23514")
    public static let readOnlyTransaction = SQLState(rawValue: "25006")
    public static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    public static let invalidStatementName = SQLState(rawValue: "26000")
    public static let invalidSchemaName = SQLState(rawValue: "3F000")
    public static let serializationFailure = SQLState(rawValue: "40001")
    public static let deadlockDetected = SQLState(rawValue: "40P01")
    public static let insufficientPrivilege = SQLState(rawValue: "42501")
    public static let syntaxError = SQLState(rawValue: "42601")
    public static let undefinedFunction = SQLState(rawValue: "42883")
    public static let undefinedTable = SQLState(rawValue: "42P01")
    public static let diskFull = SQLState(rawValue: "53100")
    public static let outOfMemory = SQLState(rawValue: "53200")
    public static let tooManyConnections = SQLState(rawValue: "53300")
    public static let lockNotAvailable = SQLState(rawValue: "55P03")
    public static let queryCanceled = SQLState(rawValue: "57014")
    public static let adminShutdown = SQLState(rawValue: "57P01")
    public static let crashShutdown = SQLState(rawValue: "57P02")
    public static let cannotConnectNow = SQLState(rawValue: "57P03")
}
