/// One execution of a statement with its parameters.
public struct Call: Sendable, Hashable {
    /// What is executed.
    public let statement: Statement
    /// The values of `$1`, `$2`, … in PostgreSQL's text format; nil is SQL null.
    ///
    /// A NUL character cannot be stored by PostgreSQL: a call with one is refused before anything is sent.
    public let parameters: [String?]

    /// A call of `statement` with `parameters`, as many as it has.
    public init(_ statement: Statement, _ parameters: [String?] = []) {
        self.statement = statement
        self.parameters = parameters
    }
}
