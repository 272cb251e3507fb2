import DatabaseAccess
import Foundations
import Logging
import Postgres
import Synchronization
import WireProtocol

/// The node's connections by session and user. It ends them when their session ends, on any node or in `psql`.
///
/// The feed reports deleted users, for either account provider. Ended sessions are polled once a second, by snapshots
/// as in the feed, so that none is missed.
final class ConnectedSessions: Sendable {
    /// The registration of one connection.
    struct Slot: Hashable, Sendable {
        fileprivate let user: ID
        fileprivate let session: ID?
        fileprivate let number: Int
    }

    /// Connections by slot number, so that removal takes constant time even with thousands of one session.
    private struct State {
        var bySession: [ID: [Int: ConnectionSession]] = [:]
        var byUser: [ID: [Int: ConnectionSession]] = [:]
        var lastNumber = 0
        /// The snapshot from which the next poll continues, or nil before the first one.
        var snapshot: String?
    }

    private let database: Database
    private let interval: Duration
    private let logger: Logger
    private let state = Mutex(State())

    init(database: Database, interval: Duration = .seconds(1), logger: Logger) {
        self.database = database
        self.interval = interval
        self.logger = logger
    }

    /// Registers a connection. Call it before the session is checked, so that an end after the check is not missed.
    ///
    /// - Parameter session: nil if another server keeps the sessions.
    /// - Throws: an error of the database if no poll has begun yet.
    func add(_ connection: ConnectionSession, of user: ID, _ session: ID?) async throws(ProtocolError) -> Slot {
        // A node accepts lines as soon as it starts, possibly before the first poll.
        if session != nil { try await takeFirstSnapshot() }
        return state.withLock { state in
            state.lastNumber += 1
            if let session { state.bySession[session, default: [:]][state.lastNumber] = connection }
            state.byUser[user, default: [:]][state.lastNumber] = connection
            return Slot(user: user, session: session, number: state.lastNumber)
        }
    }

    func remove(_ slot: Slot) {
        state.withLock { state in
            if let session = slot.session { state.bySession.remove(slot.number, under: session) }
            state.byUser.remove(slot.number, under: slot.user)
        }
    }

    /// Ends all connections of deleted users.
    func endSessions(of users: [ID]) async {
        for user in users {
            let connections = state.withLock { $0.byUser[user] ?? [:] }
            for connection in connections.values { await connection.userDeleted(user) }
        }
    }

    /// Polls for ended sessions until it is cancelled.
    func run() async {
        repeat {
            do throws(ProtocolError) {
                try await takeFirstSnapshot()
                try await pollEndedSessions()
            } catch {
                // The next poll starts from the same snapshot.
                if let reason = error.reason {
                    logger.error("cannot read ended sessions; retrying", metadata: ["reason": "\(reason)"])
                }
            }
        } while (try? await Task.sleep(for: interval)) != nil
    }

    /// Takes the snapshot for the first poll, unless there is one.
    private func takeFirstSnapshot() async throws(ProtocolError) {
        guard state.withLock({ $0.snapshot == nil }) else { return }
        let snapshot = try await endedSessions(since: nil).snapshot
        state.withLock { $0.snapshot = $0.snapshot ?? snapshot }
    }

    /// Ends the connections of sessions that ended since the last snapshot.
    private func pollEndedSessions() async throws(ProtocolError) {
        let snapshot = state.withLock { $0.snapshot }
        let ended = try await endedSessions(since: snapshot)
        if ended.snapshot != snapshot { try await database.awaitDurable() }
        for session in ended.sessions {
            let connections = state.withLock { $0.bySession[session] ?? [:] }
            for connection in connections.values { await connection.sessionEnded(session) }
        }
        state.withLock { $0.snapshot = ended.snapshot }
    }

    private func endedSessions(since snapshot: String?) async throws(ProtocolError) -> EndedSessions {
        guard let ended = EndedSessions(try await database.rows(EndedSessions.statement, [snapshot], as: .accounts))
        else { throw .fault("accounts.ended_sessions returned no snapshot") }
        return ended
    }
}

/// The sessions that ended since a snapshot: a row of `accounts.ended_sessions`.
private struct EndedSessions {
    /// The snapshot for the next poll.
    let snapshot: String
    let sessions: [ID]

    static let statement = Statement(
        "accounts.ended_sessions", "select snapshot, session_ids from accounts.ended_sessions($1::pg_snapshot)")

    /// Fails if there is no row.
    init?(_ rows: Rows) {
        guard rows.count == 1, let snapshot = rows.text(0, 0), let sessions = rows.text(0, 1) else { return nil }
        self.snapshot = snapshot
        self.sessions = sessions.arrayElements.compactMap { ID($0) }
    }
}

extension [ID: [Int: ConnectionSession]] {
    /// Removes a connection, and the key with its last one.
    fileprivate mutating func remove(_ number: Int, under key: ID) {
        self[key]?[number] = nil
        if self[key]?.isEmpty == true { self[key] = nil }
    }
}
