internal import Logging
internal import Postgres

/// The connections of this node by their sessions, so that the end of a session ends them, wherever it came from: this
/// node, another, or `psql`.
///
/// Once a second it asks which sessions have ended since it asked last, by snapshots, as the feed does: none is missed.
actor ConnectedSessions {
    /// One connection's place.
    struct Place: Hashable, Sendable {
        fileprivate let session: ID
        fileprivate let number: Int
    }

    private let database: Database
    private let interval: Duration
    private let logger: Logger

    private var connections: [ID: [Int: @Sendable () async -> Void]] = [:]
    private var lastNumber = 0
    private var snapshot: String?

    init(database: Database, interval: Duration = .seconds(1), logger: Logger) {
        self.database = database
        self.interval = interval
        self.logger = logger
    }

    /// A connection is about to be of that session. To be called before the session is looked up: an end that the
    /// lookup does not see is seen here.
    ///
    /// - Parameter onEnd: is called once, when the session has ended.
    func add(_ session: ID, onEnd: @escaping @Sendable () async -> Void) -> Place {
        lastNumber += 1
        connections[session, default: [:]][lastNumber] = onEnd
        return Place(session: session, number: lastNumber)
    }

    func remove(_ place: Place) {
        connections[place.session]?[place.number] = nil
        if connections[place.session]?.isEmpty == true { connections[place.session] = nil }
    }

    /// Runs until it is cancelled.
    func run() async {
        repeat {
            do throws(ProtocolError) {
                try await look()
            } catch {
                // The next one asks since the same snapshot.
                if let reason = error.reason {
                    logger.error("ended sessions cannot be read", metadata: ["reason": "\(reason)"])
                }
            }
        } while (try? await Task.sleep(for: interval)) != nil
    }

    private func look() async throws(ProtocolError) {
        let rows = try await database.rows(Self.endedSessions, [snapshot], as: .accounts)
        guard let next = rows.text(0, 0), let ended = rows.text(0, 1) else {
            throw .fault("accounts.ended_sessions returned no snapshot")
        }
        if next != snapshot { try await database.seal() }
        snapshot = next
        for session in ended.split(whereSeparator: { "{,}".contains($0) }).compactMap({ ID(String($0)) }) {
            for onEnd in (connections.removeValue(forKey: session) ?? [:]).values { await onEnd() }
        }
    }

    private static let endedSessions = Statement(
        "accounts.ended_sessions", "select snapshot, session_ids from accounts.ended_sessions($1::pg_snapshot)")
}
