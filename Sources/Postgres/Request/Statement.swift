/// One SQL statement and the name under which each connection prepares it once.
///
/// Parameters are `$1`, `$2`, …; they are sent as text, apart from the SQL, so no value can become part of it.
/// A name stands for one SQL text in the whole process.
public struct Statement: Sendable, Hashable {
    /// What the statement is called on the server; at most 63 bytes count there.
    public let name: String
    /// The SQL, a single statement.
    public let sql: String

    /// A statement that is prepared on its first use on a connection.
    public init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }
}
