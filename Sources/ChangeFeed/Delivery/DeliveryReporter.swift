package import DatabaseAccess
package import Foundations
package import Logging
import Postgres
import Synchronization
import WireProtocol

/// Reports to the database which messages the clients of this node have acknowledged (`docs/protocol.md`, section 4,
/// *Delivered marks*).
///
/// Acknowledging causes no statement: what all clients have acknowledged is reported in one statement a second at most.
/// The database decides which messages a cursor includes, so that a cursor of any node, or of a page that only the
/// client has read, acknowledges its messages.
package final class DeliveryReporter: Sendable {
    private let database: Database
    private let feed: Feed
    private let interval: Duration
    private let logger: Logger
    private let state = Mutex(DeliveryState())

    /// The longest pause between two reports.
    private static let maxPause = Duration.seconds(2)

    /// The time after which no further report of users with all their conversations begins.
    private static let completeTime = Duration.milliseconds(100)

    private let wake: WakeSignal

    /// - Parameter interval: the least time between two reports.
    package init(database: Database, feed: Feed, interval: Duration, logger: Logger) {
        self.database = database
        self.feed = feed
        self.interval = interval
        self.logger = logger
        wake = WakeSignal(on: database.reactor)
    }

    /// Records that a client of the user has received everything up to a cursor.
    ///
    /// - Parameter subscription: the client's subscription, or nil if it has none.
    package func acknowledge(_ cursor: Cursor, of user: ID, _ subscription: Feed.SubscriptionID?) {
        let snapshot: Snapshot
        switch cursor.place {
        case .at(let reached): snapshot = reached
        case .within(let since?, _, _): snapshot = since
        case .within(nil, _, _): return
        }
        let acknowledgement = DeliveryState.Acknowledgement(user: user, epoch: cursor.epoch, snapshot: snapshot)
        state.withLock {
            $0.acknowledge(acknowledgement, by: subscription.map { .subscription($0) } ?? .user(user))
        }
        wake.signal()
    }

    /// Reports until it is cancelled.
    package func run() async {
        var next = ContinuousClock.now
        while (try? await wake.next(notBefore: next)) != nil {
            let start = ContinuousClock.now
            await report()
            // Reports take at most a tenth of a connection's time, unless the database is slow.
            next = start + max(interval, min(Self.maxPause, (.now - start) * 10))
            if !state.withLock(\.isEmpty) { wake.signal() }
        }
    }

    private func report() async {
        var count: Int
        repeat {
            let clients = state.withLock { $0.takeClients() }
            count = clients.count
            let scopes = await feed.acknowledge(clients)
            state.withLock { state in
                for (client, scope) in zip(clients, scopes) { state.add(client.acknowledgement, of: scope) }
            }
        } while count == DeliveryState.maxClientsAtOnce
        guard await report(state.withLock { $0.takeReport() }) else { return }
        // In statements of their own: a user may have thousands of conversations.
        let end = ContinuousClock.now + Self.completeTime
        repeat {
            let rows = state.withLock { $0.takeCompleteReport() }
            let start = ContinuousClock.now
            guard !rows.isEmpty, await report(rows) else { return }
            state.withLock { $0.completeReportEnded(after: .now - start) }
        } while .now < end
    }

    /// Reports rows, and returns false if the report has failed. They are then reported again.
    private func report(_ rows: [DeliveryState.Row]) async -> Bool {
        guard !rows.isEmpty else { return true }
        do throws(ProtocolError) {
            let outcome = try await send(rows)
            let unsettled = outcome.unsettled.filter(rows.indices.contains).map { rows[$0] }
            state.withLock { $0.reportSucceeded(unsettled: unsettled) }
            await feed.recordLargeConversations(outcome.large)
            if outcome.hasMoved { feed.changed() }
            return true
        } catch {
            // Logged once per outage.
            let isFirst = state.withLock { $0.reportFailed(rows) }
            if isFirst, !Task.isCancelled {
                logger.warning("cannot report delivered messages", metadata: ["error": "\(error)"])
            }
            return false
        }
    }

    private func send(_ rows: [DeliveryState.Row]) async throws(ProtocolError) -> Outcome {
        // The rows of an acknowledgement stand together, and share its snapshot.
        var acknowledgements: [DeliveryState.Acknowledgement] = []
        let devices = rows.map { row in
            if acknowledgements.last != row.acknowledgement { acknowledgements.append(row.acknowledgement) }
            return acknowledgements.count
        }
        let result = try await database.rows(
            Self.report,
            [
                acknowledgements.plainArrayLiteral { $0.user }, acknowledgements.map(\.epoch).arrayLiteral,
                acknowledgements.map(\.snapshot.text).arrayLiteral, devices.plainArrayLiteral { $0 },
                rows.plainArrayLiteral { $0.conversation },
            ], as: .feed)
        return Outcome(
            hasMoved: result.text(0, 0) != "0", large: result.ids(0, 1) ?? [],
            unsettled: result.numbers(0, 2)?.map { Int($0) - 1 } ?? [])
    }

    private struct Outcome {
        let hasMoved: Bool

        /// Conversations that have too many members for marks.
        let large: [ID]

        /// The places of rows to report again.
        let unsettled: [Int]
    }

    private static let report = Statement(
        "app.report_acknowledged",
        """
        select moved, large, unsettled from app.report_acknowledged($1::uuid[], $2::text[], \
        $3::pg_snapshot[], $4::int[], $5::uuid[])
        """)
}
