import ChangeFeed
import Schema

/// The readiness of a node to serve clients.
package enum Readiness: Sendable {
    /// The database is reachable and has the schema, and the feed is live with this lag.
    case ready(feedLag: Duration)

    /// The reason as a sentence.
    case notReady(String)
}

extension MessagingService {
    /// Checks the database and the feed. Returns within seconds.
    package func readiness() async -> Readiness {
        do {
            if let incompatibility = try await Migrator.incompatibility(over: pool) {
                return .notReady(incompatibility)
            }
        } catch {
            return .notReady("The database cannot be reached: \(error).")
        }
        guard let lag = await feed.lag else { return .notReady("The feed has no connection to the database.") }
        guard lag < Self.maxLag else {
            return .notReady("The feed last polled the database \(lag.components.seconds) s ago.")
        }
        return .ready(feedLag: lag)
    }

    /// Ten missed polls: the feed polls at least once a second.
    private static var maxLag: Duration { .seconds(10) }
}
