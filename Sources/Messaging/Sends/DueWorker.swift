import DatabaseAccess
import Logging
import Postgres

/// Does work of messages at its time: sends scheduled messages, finishes those that nobody continues, rejects those
/// that were held for too long, merges new ones into the search index, and deletes expired ones.
///
/// Every node does what no other transaction is doing.
struct DueWorker: Sendable {
    let database: Database
    let logger: Logger
    let work: Work

    /// The days after which messages expire, or nil.
    let retentionDays: Int?

    /// Called after a message is written, to notify the feed.
    let onChange: @Sendable () -> Void

    /// A kind of work.
    enum Work: String, CaseIterable {
        /// `sql/functions/app/scheduled.sql`.
        case scheduledMessages = "app.send_due"

        /// `sql/functions/app/streams.sql`.
        case abandonedStreams = "app.finish_abandoned_stream"

        /// `sql/functions/app/message_search.sql`.
        case searchIndex = "app.flush_message_words"

        /// `sql/functions/app/held_messages.sql`.
        case heldMessages = "app.expire_held"

        /// `sql/functions/app/retention.sql`.
        case expiredMessages = "app.expire_messages"

        /// Does one step, and returns false if nothing is due.
        fileprivate var statement: Statement {
            Statement(rawValue, "select \(rawValue)(\(self == .expiredMessages ? "$1::int" : ""))")
        }

        fileprivate var failure: Logger.Message {
            switch self {
            case .scheduledMessages: "cannot send scheduled messages; retrying"
            case .abandonedStreams: "cannot finish streamed messages; retrying"
            case .heldMessages: "cannot reject old held messages; retrying"
            case .searchIndex: "cannot merge new messages into the search index; retrying"
            case .expiredMessages: "cannot delete expired messages; retrying"
            }
        }
    }

    /// The pause when no message is due. Scheduled messages are sent within 2 s of their time.
    private static let idlePause = Duration.seconds(1)

    /// The pause after an error.
    private static let errorPause = Duration.seconds(5)

    /// Runs until it is cancelled.
    func run() async {
        let statement = work.statement
        let parameters = work == .expiredMessages ? ["\(retentionDays ?? 0)"] : []
        var isFailing = false
        while !Task.isCancelled {
            var pause = Self.idlePause
            let start = ContinuousClock.now
            do {
                let rows = try await database.rows(statement, parameters, as: .feed)
                isFailing = false
                if rows.text(0, 0) == "t" {
                    onChange()
                    // A million expired messages leave three quarters of the time to others.
                    pause = work == .expiredMessages ? (.now - start) * 3 : .zero
                }
            } catch {
                if Task.isCancelled { return }
                pause = Self.errorPause
                if !isFailing {
                    isFailing = true
                    logger.warning(work.failure, metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: pause)
        }
    }
}
