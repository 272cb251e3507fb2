import ChangeFeed
import DatabaseAccess
import Foundations
import Logging
import Postgres
import WireProtocol

/// Checks reconnecting clients for missed changes, many in one query.
///
/// Most have missed none: an app that comes to the foreground, or all clients of a node that was restarted. Clients
/// that arrive while a query runs share the next.
struct ReconnectBatcher: Sendable {
    private struct Client {
        let user: ID
        let epoch: String
        let snapshot: Snapshot
    }

    private let checks: RequestCoalescer<Client, SyncPage?>

    /// Allows as many clients as two queries take: one that runs, and one that waits.
    private let limiter: ConcurrencyLimiter

    /// The most clients in one query: enough that each costs little, few enough that it ends soon.
    private static let maxBatchSize = 64

    /// The most transactions that a cursor may list as in progress. A genuine cursor lists at most one per backend. A
    /// forged one could be long, and the query carries the cursors of all its clients.
    private static let maxInProgress = 256

    init(database: Database, logger: Logger) {
        limiter = ConcurrencyLimiter(width: 2 * Self.maxBatchSize, on: database.reactor)
        checks = RequestCoalescer(maxBatchSize: Self.maxBatchSize, on: database.reactor) {
            clients throws(ProtocolError) in
            do throws(ProtocolError) {
                return try await Self.pages(of: clients, in: database)
            } catch {
                if let reason = error.reason {
                    logger.error(
                        "reconnecting clients could not be checked for changes", metadata: ["reason": "\(reason)"])
                }
                throw error
            }
        }
    }

    /// Returns for each client an empty page if it has missed nothing, or nil.
    private static func pages(of clients: [Client], in database: Database) async throws(ProtocolError) -> [SyncPage?] {
        let rows = try await database.rowsForMany(
            Self.hasNoChanges,
            [
                clients.map(\.epoch).arrayLiteral, clients.plainArrayLiteral { $0.user },
                clients.map(\.snapshot.text).arrayLiteral,
            ], as: .feed)
        var pages: [SyncPage?] = Array(repeating: nil, count: clients.count)
        var isDurable = true
        for row in 0..<rows.count {
            guard let place = rows.text(row, 0).flatMap({ Int($0) }), pages.indices.contains(place - 1),
                let epoch = rows.text(row, 1), let snapshot = rows.text(row, 2).flatMap({ Snapshot($0) }),
                let conversations = rows.ids(row, 3)
            else { throw .fault("feed.has_no_changes returned an invalid row") }
            isDurable = isDurable && rows.text(row, 4) == "t"
            let seen = snapshot.union(clients[place - 1].snapshot)
            pages[place - 1] = SyncPage(
                cursor: Cursor(epoch: epoch, place: .at(seen)),
                start: .init(
                    epoch: epoch, snapshot: seen, conversations: conversations,
                    seesPresence: rows.text(row, 5) == "t"))
        }
        if !isDurable { try await database.awaitDurable() }
        return pages
    }

    /// Runs `work` with its owner's turn, once there is room. `work` must call ``page(_:of:)``.
    ///
    /// - Throws: `unavailable` if the wait was too long, or the error of `work`.
    func run<Value: Sendable>(
        for owner: RequestOwner, _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        try await limiter.run(for: owner, work)
    }

    /// Returns the empty page of a user who has missed nothing. Nil for all others, and if it cannot be determined
    /// quickly: the page must then be read.
    func page(_ request: SyncRequest, of user: ID) async -> SyncPage? {
        guard let cursor = request.cursor, case .at(let snapshot) = cursor.place,
            cursor.epoch.utf8.allSatisfy({ $0.isLowercaseHexadecimal }),
            snapshot.inProgress.count <= Self.maxInProgress
        else { return nil }
        // After an error each client reads its own page, and gets its own error.
        return try? await checks.load(Client(user: user, epoch: cursor.epoch, snapshot: snapshot))
    }

    private static let hasNoChanges = Statement(
        "feed.has_no_changes",
        """
        select place, epoch, snapshot, conversation_ids, is_durable, sees_presence \
        from feed.has_no_changes($1::text[], $2::uuid[], $3::pg_snapshot[])
        """)
}

extension UInt8 {
    fileprivate var isLowercaseHexadecimal: Bool {
        isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}
