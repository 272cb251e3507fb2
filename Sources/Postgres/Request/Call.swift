/// An execution of a statement with its parameters.
public struct Call: Sendable, Hashable {
    /// The statement.
    public let statement: Statement
    /// The values of `$1`, `$2`, … in PostgreSQL's text format; nil is SQL null.
    ///
    /// PostgreSQL cannot store NUL characters: a call with one is rejected before anything is sent.
    public let parameters: [String?]

    /// Creates a call of `statement` with all of its parameters.
    public init(_ statement: Statement, _ parameters: [String?] = []) {
        self.statement = statement
        self.parameters = parameters
    }
}
