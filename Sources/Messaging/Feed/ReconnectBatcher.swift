internal import Logging
internal import Postgres

/// Clients that come back, each with its cursor, most of them to nothing new: an app that comes to the foreground, or
/// all of a node's after a restart. Whether one has missed something is asked of the database for all together who come
/// while it is asked for others.
struct ReconnectBatcher: Sendable {
    private struct Client {
        let user: ID
        let epoch: String
        let snapshot: Snapshot
    }

    private let checks: RequestCoalescer<Client, SyncPage?>

    /// Those of two statements: one that is being asked, and one that waits for it.
    private let limiter: ConcurrencyLimiter

    /// How many one statement asks about: so many that it costs each little, so few that it is soon over.
    private static let maxBatchSize = 64

    /// How many transactions a cursor may name as in progress: as many as there are backends, in one that was not made
    /// up. What one client asks with is carried beside all that the others ask with.
    private static let maxInProgress = 256

    init(database: Database, logger: Logger) {
        limiter = ConcurrencyLimiter(width: 2 * Self.maxBatchSize, on: database.reactor)
        checks = RequestCoalescer(mostAtOnce: Self.maxBatchSize, on: database.reactor) {
            clients throws(ProtocolError) in
            do throws(ProtocolError) {
                return try await Self.pages(of: clients, in: database)
            } catch {
                if let reason = error.reason {
                    logger.error("who came back was not asked about", metadata: ["reason": "\(reason)"])
                }
                throw error
            }
        }
    }

    /// For each client the page of one who has missed nothing, or nil.
    private static func pages(of clients: [Client], in database: Database) async throws(ProtocolError) -> [SyncPage?] {
        let rows = try await database.rowsForMany(
            Self.missedNothing,
            [
                array(clients.map(\.epoch)), array(clients.map { "\($0.user)" }), array(clients.map(\.snapshot.text)),
            ], as: .feed)
        var pages: [SyncPage?] = Array(repeating: nil, count: clients.count)
        var isDurable = true
        for row in 0..<rows.count {
            guard let place = rows.text(row, 0).flatMap({ Int($0) }), pages.indices.contains(place - 1),
                let epoch = rows.text(row, 1), let snapshot = rows.text(row, 2).flatMap({ Snapshot($0) }),
                let conversations = rows.ids(row, 3)
            else { throw .fault("feed.missed_nothing returned what is no page") }
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

    /// Does something when it is one's turn: `page` is to be asked for then.
    ///
    /// - Throws: `unavailable` where that took too long, or what `work` throws.
    func run<Value: Sendable>(
        _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        try await limiter.run(work)
    }

    /// The page of a user who has missed nothing, which is empty. Nil for everybody else, and where that cannot be said
    /// quickly: the page is then to be read.
    func page(_ request: SyncRequest, of user: ID) async -> SyncPage? {
        guard let cursor = request.cursor, case .at(let snapshot) = cursor.place,
            cursor.epoch.utf8.allSatisfy({ $0.isLowercaseHexadecimal }),
            snapshot.inProgress.count <= Self.maxInProgress
        else { return nil }
        // What fails for all of them is for each to ask, and to be told.
        return try? await checks.load(Client(user: user, epoch: cursor.epoch, snapshot: snapshot))
    }

    private static let missedNothing = Statement(
        "feed.missed_nothing",
        """
        select place, epoch, snapshot, conversation_ids, is_durable, sees_presence \
        from feed.missed_nothing($1::text[], $2::uuid[], $3::pg_snapshot[])
        """)

    /// An array as PostgreSQL reads it, of texts without quotes and backslashes.
    private static func array(_ texts: [String]) -> String {
        #"{"\#(texts.joined(separator: #"",""#))"}"#
    }
}

extension UInt8 {
    fileprivate var isLowercaseHexadecimal: Bool {
        isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}
