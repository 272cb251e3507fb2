internal import Postgres

/// Whether a node can serve clients.
public enum Readiness: Sendable {
    /// The database is reached, has the schema, and the feed is live: it last saw what had changed so long ago.
    case ready(feedLag: Duration)

    /// Why not, in a sentence.
    case notReady(String)
}

extension MessagingService {
    /// Asks the database and the feed whether clients can be served; answers within some seconds.
    public func readiness() async -> Readiness {
        do {
            if let incompatibility = try await Migrator.incompatibility(over: pool) {
                return .notReady(incompatibility)
            }
        } catch {
            return .notReady("The database cannot be reached: \(error).")
        }
        guard let lag = await feed.lag else { return .notReady("The feed has no connection to the database.") }
        guard lag < Self.longestLag else {
            return .notReady("The feed last saw the database \(lag.components.seconds) s ago.")
        }
        return .ready(feedLag: lag)
    }

    /// The feed looks once a second at least.
    private static var longestLag: Duration { .seconds(10) }
}
