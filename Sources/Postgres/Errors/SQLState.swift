/// The five characters by which PostgreSQL names an error, the same in every language and version.
///
/// Source: PostgreSQL's documentation, appendix A. A service may raise codes of its own.
package struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The code, for instance `23505`.
    package let rawValue: String

    /// Creates a state with this code, which is not checked.
    package init(rawValue: String) { self.rawValue = rawValue }

    package var description: String { rawValue }
}

extension SQLState {
    package static let featureNotSupported = SQLState(rawValue: "0A000")
    package static let uniqueViolation = SQLState(rawValue: "23505")
    package static let checkViolation = SQLState(rawValue: "23514")
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    package static let invalidStatementName = SQLState(rawValue: "26000")
    package static let serializationFailure = SQLState(rawValue: "40001")
    package static let deadlockDetected = SQLState(rawValue: "40P01")
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    package static let lockNotAvailable = SQLState(rawValue: "55P03")
    package static let queryCanceled = SQLState(rawValue: "57014")
}
