/// The five characters by which PostgreSQL names an error, the same in every language and version.
///
/// Source: PostgreSQL's documentation, appendix A. A service may raise codes of its own.
public struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code, for instance `23505`.
    public let rawValue: String

    /// Creates a state with this code, which is not checked.
    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
}

extension SQLState {
    public static let featureNotSupported = SQLState(rawValue: "0A000")
    public static let uniqueViolation = SQLState(rawValue: "23505")
    public static let checkViolation = SQLState(rawValue: "23514")
    public static let readOnlyTransaction = SQLState(rawValue: "25006")
    public static let invalidStatementName = SQLState(rawValue: "26000")
    public static let serializationFailure = SQLState(rawValue: "40001")
    public static let deadlockDetected = SQLState(rawValue: "40P01")
    public static let insufficientPrivilege = SQLState(rawValue: "42501")
    public static let lockNotAvailable = SQLState(rawValue: "55P03")
    public static let queryCanceled = SQLState(rawValue: "57014")
}
