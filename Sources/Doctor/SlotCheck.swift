import Postgres
import Schema

/// Checks that enough database connections are left for a node.
struct SlotCheck: Sendable {
    let database: DatabaseUnderTest
    let poolSize: Int

    /// True if the node sends device pushes, which takes a connection.
    let pushes: Bool

    /// True if the feed polls a standby, which takes another connection to the primary.
    let hasStandby: Bool

    /// True if a node already runs at this address and has its connections.
    let isServing: Bool

    /// The feed's connections: polling, listening and notifying.
    private static let feed = 3

    /// The maximum number of connections of a node to the primary.
    private var needed: Int { poolSize + Self.feed + (pushes ? 1 : 0) + (hasStandby ? 1 : 0) }

    func findings() async throws(PostgresError) -> [Finding] {
        let answer = try await database.query(.slots)
        // This connection will be closed.
        let bounds = [
            ("max_connections", answer.integer("allowed"), answer.integer("used") - 1),
            (
                "the connection limit of the database", answer.integer("database_limit"),
                answer.integer("database_used") - 1
            ),
            ("the connection limit of the role", answer.integer("role_limit"), answer.integer("role_used") - 1),
        ]
        return [Self.finding(bounds, needed: needed, isServing: isServing)]
    }

    /// - Parameter bounds: each limit's name, its value (negative: unlimited), and the connections in use.
    static func finding(
        _ bounds: [(name: String, allowed: Int, used: Int)], needed: Int, isServing: Bool
    ) -> Finding {
        let tightest = bounds.filter { $0.allowed >= 0 }.min { $0.allowed - $0.used < $1.allowed - $1.used }
        guard let (name, allowed, used) = tightest else {
            return .ok("connections", "Nothing bounds the connections.")
        }
        let free = max(0, allowed - used)
        let state = "\(free) of \(allowed) connections are free (\(name)), and a node takes \(needed)"
        guard free < needed else { return .ok("connections", "\(state).") }
        let advice = "Raise \(name), or lower POSTLINE_POOL_SIZE, or put a pooler between."
        return isServing
            ? .warning("connections", "\(state); a node already runs here, and another would exceed the limit.", advice)
            : .problem("connections", "\(state).", advice)
    }
}
