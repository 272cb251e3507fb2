/// The difference between what was applied to a database and what this binary would apply.
package struct LedgerState: Sendable {
    /// The pending migrations, in order.
    package let missing: [String]

    /// The migrations that were edited after they were applied.
    package let edited: [String]

    /// The applied migrations that this binary does not know, of a later version.
    package let unknown: [String]

    /// True if functions, grants, policies or the bootstrap are of another version.
    package let isStale: Bool

    /// - Parameter applied: the hash of each applied step, by name.
    package init(applied: [String: String]) {
        let migrations = SQLFile.files(in: "migrations")
        missing = migrations.map(\.name).filter { applied[$0] == nil }
        edited = migrations.filter { applied[$0.name] != nil && applied[$0.name] != $0.hash }.map(\.name)
        // "api" is the previous name of the functions.
        let others = ["bootstrap", "functions", "seed", "api"]
        unknown = Set(applied.keys).subtracting(migrations.map(\.name)).subtracting(others).sorted()
        isStale =
            applied["bootstrap"] != SQLFile.files(in: "bootstrap").hash
            || applied["functions"] != (SQLFile.functions + SQLFile.files(in: "policies.sql")).hash
    }
}
