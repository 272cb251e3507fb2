/// An execution of a statement with its parameters.
package struct Call: Sendable, Hashable {
    /// The statement.
    package let statement: Statement
    /// The values of `$1`, `$2`, … in PostgreSQL's text format; nil is SQL null.
    ///
    /// PostgreSQL cannot store NUL characters: a call with one is rejected before anything is sent.
    package let parameters: [String?]

    /// Creates a call of `statement` with all of its parameters.
    package init(_ statement: Statement, _ parameters: [String?] = []) {
        self.statement = statement
        self.parameters = parameters
    }
}
