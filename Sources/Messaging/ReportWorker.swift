import DatabaseAccess
import Logging
import Metrics
import Postgres

/// Deletes the evidence of reports whose retention time is over, and measures the moderators' two queues: reports that
/// are not closed, and held messages (`sql/functions/app/reports.sql`, `held_messages.sql`). Every node does.
struct ReportWorker: Sendable {
    let database: Database
    let logger: Logger

    /// The days after which a closed report loses its evidence.
    let retentionDays: Int
    let metrics: any MetricsFactory

    private static let pause = Duration.seconds(15)

    /// Runs until it is cancelled.
    func run() async {
        let open = Meter(label: "postline_reports_open", factory: metrics)
        let oldest = Meter(label: "postline_report_oldest_seconds", factory: metrics)
        let held = Meter(label: "postline_held_messages", factory: metrics)
        let oldestHeld = Meter(label: "postline_held_message_oldest_seconds", factory: metrics)
        var isFailing = false
        while !Task.isCancelled {
            do {
                // Many are done one batch after another.
                while try await database.rows(Self.prune, ["\(retentionDays)"], as: .feed).text(0, 0) != "0" {}
                let counts = try await database.rows(Self.counts, [], as: .feed)
                open.set(counts.text(0, 0).flatMap { Int($0) } ?? 0)
                oldest.set(counts.text(0, 1).flatMap { Double($0) } ?? 0)
                let heldCounts = try await database.rows(Self.heldCounts, [], as: .feed)
                held.set(heldCounts.text(0, 0).flatMap { Int($0) } ?? 0)
                oldestHeld.set(heldCounts.text(0, 1).flatMap { Double($0) } ?? 0)
                isFailing = false
            } catch {
                if Task.isCancelled { return }
                if !isFailing {
                    isFailing = true
                    logger.warning("cannot measure and prune reports; retrying", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    private static let prune = Statement("app.prune_reports", "select app.prune_reports($1::int)")
    private static let counts = Statement(
        "app.report_counts", "select pending, oldest_seconds from app.report_counts()")
    private static let heldCounts = Statement(
        "app.held_counts", "select pending, oldest_seconds from app.held_counts()")
}
