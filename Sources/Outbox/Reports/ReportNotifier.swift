package import DatabaseAccess
import Foundations
package import Logging
import Outbound
import Postgres
import ServiceLifecycle

/// Tells the operator's webhook of each new report (`docs/safety.md`). One node, the leader, does it for all.
package final class ReportNotifier: Service {
    private let settings: WebhookSettings
    private let database: Database
    private let logger: Logger

    /// The identity of this node as a leaseholder.
    private let node = ID.random()
    private let deliveries = Deliveries<ReportOrder, Duration?>(maxInFlight: 16)

    /// The interval of polls for new reports, which renew the lease of five seconds.
    private static let pause = Duration.seconds(1)

    /// - Parameter database: the service's database, which must run as long as this service.
    package init(_ settings: WebhookSettings, database: Database, logger: Logger) {
        self.settings = settings
        self.database = database
        self.logger = logger
    }

    /// Runs until the service is stopped.
    package func run() async throws {
        try await settings.withWebhook { webhook in
            let (orders, leased) = AsyncStream<ReportOrder>.makeStream()
            await withDiscardingTaskGroup { group in
                group.addTask {
                    await cancelWhenGracefulShutdown { await self.runPollLoop(leased) }
                    leased.finish()
                }
                // A notice in flight is completed, whatever happens to this node.
                for await order in orders {
                    group.addTask { await self.deliveries.perform(order) { await self.deliver(order, webhook) } }
                }
            }
            try? await self.deliveries.settle(self.record)
        }
    }

    private func runPollLoop(_ leased: AsyncStream<ReportOrder>.Continuation) async {
        var isWarned = false
        while !Task.isCancelled {
            do {
                try await deliveries.settle(record)
                let room = deliveries.room
                if room > 0 { deliveries.begin(try await claim(limit: room), leased) }
                isWarned = false
            } catch {
                if Task.isCancelled { return }
                if !isWarned {
                    logger.warning("cannot read new reports; retrying", metadata: ["error": "\(error)"])
                }
                isWarned = true
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    private struct Body: Encodable {
        let type = "report"
        let report: ReportOrder
    }

    /// Tells the webhook. Returns the time after which it is tried again, or nil if it is done.
    private func deliver(_ order: ReportOrder, _ webhook: SignedWebhook) async -> Duration? {
        let reason: String
        // 2 s, 4 s, … up to an hour.
        var retry: Duration? = .seconds(min(3_600, 2 << min(order.attempts, 11)))
        do {
            let response = try await webhook.post(Body(report: order), id: order.id)
            switch response.status {
            case 200..<300: return nil
            // It is not ready, or misconfigured.
            case 401, 403, 404, 408, 425, 429, 500...: retry = max(retry ?? .zero, response.retryAfter ?? .zero)
            default: retry = nil
            }
            reason = response.summary
        } catch {
            reason = "\(error)"
        }
        logger.notice(
            "report not accepted by the webhook", metadata: ["report": "\(order.id)", "response": "\(reason)"])
        return retry
    }

    private func claim(limit: Int) async throws -> [ReportOrder] {
        let rows = try await database.rows(Self.claimStatement, ["\(node)", "\(limit)"], as: .feed)
        return (0..<rows.count).compactMap { ReportOrder(rows, $0) }
    }

    private func record(_ outcomes: [(order: ReportOrder, outcome: Duration?)]) async throws {
        _ = try await database.rows(
            Self.recordStatement,
            [
                outcomes.plainArrayLiteral { $0.order.id },
                outcomes.plainArrayLiteral { $0.outcome.map { "\($0 / .milliseconds(1) / 1_000)" } ?? "null" },
            ], as: .feed)
    }

    private static let claimStatement = Statement(
        "app.claim_reports",
        """
        select id, reason, reporter_id, reported_id, conversation_id, seq, created_at, attempts \
        from app.claim_reports($1::uuid, $2::int)
        """)
    private static let recordStatement = Statement(
        "app.record_report_results", "select app.record_report_results($1::uuid[], $2::float8[])")
}

/// A new report, without content: its ids, reason and time.
private struct ReportOrder: Sendable, Encodable {
    let id: String
    let reason: String
    let reporter_id: String
    let reported_id: String
    let conversation_id: String?
    let seq: Int64?
    let created_at: String

    /// The number of attempts before this one.
    let attempts: Int

    private enum CodingKeys: CodingKey {
        case id, reason, reporter_id, reported_id, conversation_id, seq, created_at
    }

    /// Nil for an invalid row.
    init?(_ rows: Rows, _ row: Int) {
        guard let id = rows.text(row, 0), let reason = rows.text(row, 1), let reporter = rows.text(row, 2),
            let reported = rows.text(row, 3), let time = rows.text(row, 6)
        else { return nil }
        self.id = id
        self.reason = reason
        reporter_id = reporter
        reported_id = reported
        conversation_id = rows.text(row, 4)
        seq = rows.text(row, 5).flatMap { Int64($0) }
        created_at = time
        attempts = rows.text(row, 7).flatMap { Int($0) } ?? 0
    }
}
