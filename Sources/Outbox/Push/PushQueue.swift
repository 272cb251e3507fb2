package import DatabaseAccess
package import Foundations
package import Logging
import Messaging
import Postgres

/// The queue of device pushes in the database (`sql/functions/app/push.sql`).
///
/// One node leads: the holder of a lease of four seconds, which it renews. If the leader stops or is cut off, another
/// follows once the lease has expired. If the old leader continues meanwhile, no device is notified twice: an order is
/// due again only after a minute.
package struct PushQueue: Sendable {
    private let connection: Connection
    private let preamble: Preamble

    /// Connects, and passes the queue to `body`.
    ///
    /// - Parameter url: a connection string by which a session keeps its backend.
    /// - Throws: the database's error, or the error of `body`.
    package static func with(
        _ url: String, limits: StatementLimits, logger: Logger, _ body: (PushQueue) async throws -> Void
    ) async throws {
        try await Connection.with(url, on: Reactor(name: "push"), options: .logging(to: logger)) { connection in
            try await body(PushQueue(connection: connection, preamble: Preamble(limits: limits)))
        }
    }

    /// Acquires or renews the lease. Returns true if `node` leads.
    package func acquireLease(as node: ID) async throws -> Bool {
        try await run(Self.acquireLease, ["\(node)"]).text(0, 0) == "t"
    }

    /// Releases the lease if `node` has it.
    package func releaseLease(as node: ID) async throws { _ = try await run(Self.releaseLease, ["\(node)"]) }

    /// Polls for new messages, as the leader. Returns the number of pending pushes.
    package func enqueueNew() async throws -> Int {
        try await run(Self.queuePushes, []).count(of: "app.queue_pushes")
    }

    /// Returns the due pushes, and the number of those abandoned after a day.
    ///
    /// Each is due again in a minute unless settled.
    ///
    /// - Parameter withText: true to include the messages' texts.
    package func leaseDue(limit: Int, withText: Bool) async throws -> (orders: [PushOrder], abandoned: Int) {
        var abandoned = 0
        var orders: [PushOrder] = []
        for statement in [Self.leaseDueStatement, Self.leaseDueReactions] where orders.count < limit {
            let rows = try await run(statement, ["\(limit - orders.count)", "\(withText)"])
            for row in 0..<rows.count {
                if let order = PushOrder(rows, row) {
                    orders.append(order)
                } else {
                    abandoned += 1
                }
            }
        }
        return (orders, abandoned)
    }

    /// Records the outcomes of pushes, also if another node leads by now.
    package func settle(_ outcomes: [(order: PushOrder, outcome: PushOutcome)]) async throws {
        let messages = outcomes.filter { $0.order.kind != .reaction }
        if !messages.isEmpty {
            let kinds = messages.plainArrayLiteral { $0.order.kind.rawValue }
            try await settle(messages, Self.settleStatement, whichBy: kinds)
        }
        let reactions = outcomes.filter { $0.order.kind == .reaction }
        if !reactions.isEmpty {
            let users = reactions.plainArrayLiteral(\.order.sender)
            try await settle(reactions, Self.settleReactions, whichBy: users)
        }
    }

    /// - Parameter which: an array of what tells a push from others of the same device and message.
    private func settle(
        _ outcomes: [(order: PushOrder, outcome: PushOutcome)], _ statement: Statement, whichBy which: String
    ) async throws {
        func array(_ value: (PushOrder, PushOutcome) -> String) -> String {
            outcomes.plainArrayLiteral { value($0.order, $0.outcome) }
        }
        _ = try await run(
            statement,
            [
                array { order, _ in "\(order.device.id)" }, array { order, _ in "\(order.conversation)" },
                array { order, _ in "\(order.seq)" }, which, array { _, outcome in outcome.storedName },
                array { order, outcome in "\(outcome.retry(after: order.attempts) / .milliseconds(1) / 1_000)" },
            ])
    }

    private func run(_ statement: Statement, _ parameters: [String?]) async throws -> Rows {
        try await connection.run(
            [preamble.call(for: .feed), Call(statement, parameters)], deadline: preamble.limits.deadline)[1]
    }

    private static let acquireLease = Statement("app.acquire_lease", "select app.acquire_lease('push', $1::uuid, 4)")
    private static let releaseLease = Statement("app.release_lease", "select app.release_lease('push', $1::uuid)")
    private static let queuePushes = Statement("app.queue_pushes", "select app.queue_pushes()")
    private static let leaseDueStatement = Statement(
        "app.claim_pushes",
        """
        select kind, device_id, conversation_id, seq, user_id, platform, token, environment, locale, sender_id, \
        sender_name, title, message_kind, content, badge, attempts from app.claim_pushes($1::int, $2::boolean)
        """)
    private static let leaseDueReactions = Statement(
        "app.claim_reaction_pushes",
        """
        select kind, device_id, conversation_id, seq, user_id, platform, token, environment, locale, sender_id, \
        sender_name, title, message_kind, content, badge, attempts, emoji \
        from app.claim_reaction_pushes($1::int, $2::boolean)
        """)
    private static let settleStatement = Statement(
        "app.record_push_results",
        "select app.record_push_results($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::float8[])")
    private static let settleReactions = Statement(
        "app.record_reaction_push_results",
        """
        select app.record_reaction_push_results(\
        $1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::float8[])
        """)
}

extension PushOrder {
    /// Nil for a row without an order.
    fileprivate init?(_ rows: Rows, _ row: Int) {
        guard let kind = rows.text(row, 0).flatMap({ Kind(rawValue: $0) }), let device = rows.id(row, 1),
            let conversation = rows.id(row, 2), let seq = rows.text(row, 3).flatMap({ Int64($0) }),
            let user = rows.id(row, 4), let platform = rows.text(row, 5).flatMap({ DevicePlatform(rawValue: $0) }),
            let token = rows.text(row, 6)
        else { return nil }
        self.init(
            kind: kind,
            device: Device(
                id: device, platform: platform, token: token, isSandbox: rows.text(row, 7) == "sandbox",
                locale: rows.text(row, 8)),
            user: user, conversation: conversation, seq: seq, sender: rows.id(row, 9), senderName: rows.text(row, 10),
            title: rows.text(row, 11), messageKind: rows.text(row, 12) ?? "text", content: rows.text(row, 13),
            emoji: rows.columnCount > 16 ? rows.text(row, 16) : nil,
            badge: rows.text(row, 14).flatMap { Int64($0) } ?? 0, attempts: rows.text(row, 15).flatMap { Int($0) } ?? 0)
    }
}

extension PushOutcome {
    /// The name in the database.
    fileprivate var storedName: String {
        switch self {
        case .accepted: "taken"
        case .rejected: "refused"
        case .unregistered: "unregistered"
        case .deferred: "later"
        }
    }

    /// Returns the wait before a retry: the provider's, or 2 s, 4 s, … up to an hour.
    fileprivate func retry(after attempts: Int) -> Duration {
        guard case .deferred(_, let requested) = self else { return .zero }
        return min(.seconds(3_600), max(requested ?? .zero, .seconds(2 << min(attempts, 12))))
    }
}
