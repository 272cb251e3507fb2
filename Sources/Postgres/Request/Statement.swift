/// An SQL statement with the name under which each connection prepares it.
///
/// Parameters `$1`, `$2`, … are sent separately as text, so no value can become SQL. A name stands for one SQL text in
/// the whole process.
package struct Statement: Sendable, Hashable {
    /// The name on the server, of which 63 bytes count.
    package let name: String
    /// The SQL, a single statement.
    package let sql: String

    /// Creates a statement that is prepared on its first use on a connection.
    package init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }
}
