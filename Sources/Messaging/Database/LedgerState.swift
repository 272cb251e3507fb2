/// What `migrate` has applied to a database, held against what this binary would apply.
public struct LedgerState: Sendable {
    /// The migrations that are to be applied yet, in order.
    public let missing: [String]

    /// The migrations that are not what they were when they were applied.
    public let edited: [String]

    /// What was applied that this binary does not know: by a later version.
    public let unknown: [String]

    /// Whether functions, grants or policies were applied, or the bootstrap was, as another version has them.
    public let isStale: Bool

    /// - Parameter applied: the hash of each step that was applied, by name.
    public init(applied: [String: String]) {
        let migrations = SQLFile.files(in: "migrations")
        missing = migrations.map(\.name).filter { applied[$0] == nil }
        edited = migrations.filter { applied[$0.name] != nil && applied[$0.name] != $0.hash }.map(\.name)
        // "api" is what the functions were called before.
        let others = ["bootstrap", "functions", "seed", "api"]
        unknown = Set(applied.keys).subtracting(migrations.map(\.name)).subtracting(others).sorted()
        isStale =
            applied["bootstrap"] != SQLFile.files(in: "bootstrap").hash
            || applied["functions"] != (SQLFile.functions + SQLFile.files(in: "policies.sql")).hash
    }
}
