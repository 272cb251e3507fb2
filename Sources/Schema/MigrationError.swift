/// The reason why a database was not migrated, as a sentence.
package enum MigrationError: Error, CustomStringConvertible {
    case unreachable(String)

    /// The database has objects or lacks rights that prevent the migration, a sentence for each. Nothing was written.
    case obstructed([String])

    /// A migration was edited after it was applied.
    case edited(String)

    /// A file failed, with the database's message.
    case failed(String, String)

    package var description: String {
        switch self {
        case .unreachable(let why): "The database cannot be reached: \(why)"
        case .obstructed(let obstacles): "The database was not changed. \(obstacles.joined(separator: " "))"
        case .edited(let name):
            "The migration \(name) was edited after it had been applied. Undo the edit, and write a new migration instead."
        case .failed(let path, let why): "sql/\(path) failed: \(why)"
        }
    }
}
