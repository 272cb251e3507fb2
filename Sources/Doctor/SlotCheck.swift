internal import Messaging
internal import Postgres

/// Whether there are connections left for a node.
struct SlotCheck: Sendable {
    let database: DatabaseUnderTest
    let poolSize: Int

    /// Whether a node pushes to devices, which it does over a connection of its own.
    let pushes: Bool

    /// Whether its feed looks at a standby, and beside that asks the primary how far it is.
    let hasStandby: Bool

    /// Whether a node has its connections already, at this address.
    let isServing: Bool

    /// The feed looks, listens and rings.
    private static let feed = 3

    /// How many connections to the primary a node takes at most.
    private var needed: Int { poolSize + Self.feed + (pushes ? 1 : 0) + (hasStandby ? 1 : 0) }

    func findings() async throws(PostgresError) -> [Finding] {
        let answer = try await database.ask(.slots)
        // This connection goes.
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

    /// - Parameter bounds: what bounds the connections, to how many (negative: it does not), and how many there are.
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
            ? .warning("connections", "\(state); one is served here already, another will not find room.", advice)
            : .problem("connections", "\(state).", advice)
    }
}
