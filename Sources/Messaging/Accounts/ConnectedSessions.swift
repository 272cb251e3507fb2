internal import Logging
internal import Postgres

/// The connections of this node by their sessions, so that the end of a session ends them, wherever it came from: this
/// node, another, or `psql`.
///
/// The feed tells which users were deleted, whoever keeps their accounts. Of sessions it asks once a second which have
/// ended since it asked last, by snapshots, as the feed does: none is missed.
actor ConnectedSessions {
    /// One connection's slot.
    struct Slot: Hashable, Sendable {
        fileprivate let user: ID
        fileprivate let session: ID?
        fileprivate let number: Int
    }

    private nonisolated let database: Database
    /// The thread of the database's connections, where whoever takes up a session goes anyway.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe database.reactor.asUnownedSerialExecutor() }

    private let interval: Duration
    private let logger: Logger

    /// By the numbers of their places, so that thousands of one token leave at no greater cost than others. Each is held
    /// until it is removed.
    private var bySession: [ID: [Int: Session]] = [:]
    private var byUser: [ID: [Int: Session]] = [:]
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
    /// - Parameter session: nil where another server keeps the sessions.
    func add(_ connection: Session, of user: ID, _ session: ID?) -> Slot {
        lastNumber += 1
        if let session { bySession[session, default: [:]][lastNumber] = connection }
        byUser[user, default: [:]][lastNumber] = connection
        return Slot(user: user, session: session, number: lastNumber)
    }

    func remove(_ slot: Slot) {
        if let session = slot.session { bySession.remove(slot.number, under: session) }
        byUser.remove(slot.number, under: slot.user)
    }

    /// Those users were deleted.
    func endAll(of users: [ID]) async {
        for user in users {
            for connection in byUser[user, default: [:]].values { await connection.end(ofUser: user) }
        }
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
        guard let ended = EndedSessions(try await database.rows(EndedSessions.statement, [snapshot], as: .accounts))
        else { throw .fault("accounts.ended_sessions returned no snapshot") }
        if ended.snapshot != snapshot { try await database.awaitDurable() }
        snapshot = ended.snapshot
        for session in ended.sessions {
            for connection in bySession[session, default: [:]].values { await connection.end(of: session) }
        }
    }
}

/// The sessions that ended since a snapshot: the row of `accounts.ended_sessions`.
private struct EndedSessions {
    /// What is asked since next.
    let snapshot: String
    let sessions: [ID]

    static let statement = Statement(
        "accounts.ended_sessions", "select snapshot, session_ids from accounts.ended_sessions($1::pg_snapshot)")

    /// Nil where there is none.
    init?(_ rows: Rows) {
        guard rows.count == 1, let snapshot = rows.text(0, 0), let sessions = rows.text(0, 1) else { return nil }
        self.snapshot = snapshot
        self.sessions = sessions.arrayElements.compactMap { ID($0) }
    }
}

extension [ID: [Int: Session]] {
    /// Takes one out, and with the last of a key the key.
    fileprivate mutating func remove(_ number: Int, under key: ID) {
        self[key]?[number] = nil
        if self[key]?.isEmpty == true { self[key] = nil }
    }
}
