import DatabaseAccess
import Logging
import Postgres

/// Sends scheduled messages at their time (`sql/functions/app/scheduled.sql`).
///
/// Every node sends those that no other transaction is sending.
struct ScheduledSender: Sendable {
    let database: Database
    let logger: Logger

    /// Called after a message is sent, to notify the feed.
    let onChange: @Sendable () -> Void

    /// The pause when no message is due. Messages are sent within 2 s of their time.
    private static let idlePause = Duration.seconds(1)

    /// The pause after an error.
    private static let errorPause = Duration.seconds(5)

    /// Runs until it is cancelled.
    func run() async {
        var isFailing = false
        while !Task.isCancelled {
            var pause = Self.idlePause
            do {
                let rows = try await database.rows(Self.sendDue, [], as: .feed)
                isFailing = false
                if rows.text(0, 0) == "t" {
                    onChange()
                    pause = .zero
                }
            } catch {
                if Task.isCancelled { return }
                pause = Self.errorPause
                if !isFailing {
                    isFailing = true
                    logger.warning("cannot send scheduled messages; retrying", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: pause)
        }
    }

    private static let sendDue = Statement("app.send_due", "select app.send_due()")
}
