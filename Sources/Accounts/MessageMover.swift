package import DatabaseAccess
import Foundations
package import Logging
import Postgres

/// Moves the messages of merged guests to their accounts, batch by batch, after the merge itself
/// (`sql/functions/app/message_moves.sql`).
///
/// One node at a time moves them, under a lease. Each batch is one transaction, so that another node can continue.
package struct MessageMover: Sendable {
    package let database: Database
    package let logger: Logger

    /// Called after each batch, to notify the feed.
    package let onChange: @Sendable () -> Void

    private let node = ID.random()

    package init(database: Database, logger: Logger, onChange: @escaping @Sendable () -> Void) {
        self.database = database
        self.logger = logger
        self.onChange = onChange
    }

    /// The pause when nothing is left to move, or another node has the lease.
    private static let idlePause = Duration.seconds(2)

    /// The longest wait of a batch for a conversation that other transactions lock.
    private static let lockWait = Duration.seconds(1)

    /// Runs until it is cancelled.
    package func run() async {
        var waitsForLock = false
        var isFailing = false
        while !Task.isCancelled {
            var pause = Self.idlePause
            do throws(PostgresError) {
                let start = ContinuousClock.now
                let outcome = try await move(waitsForLock: waitsForLock)
                waitsForLock = outcome == .locked
                isFailing = false
                switch outcome {
                case .idle, .leasedElsewhere: break
                case .locked: pause = .milliseconds(50)
                case .moved:
                    onChange()
                    // Uses a third of one connection at most, and leaves clients time to read the pushes.
                    pause = max(.milliseconds(20), (.now - start) * 2)
                }
            } catch {
                if Task.isCancelled { return }
                waitsForLock = false
                // A failed batch has changed nothing and is retried. A locked conversation is not worth a warning.
                if !isFailing, error.serverError?.sqlState != .lockNotAvailable {
                    isFailing = true
                    logger.warning("cannot move messages of merged guests; retrying", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: pause)
        }
    }

    private func move(waitsForLock: Bool) async throws(PostgresError) -> Outcome {
        let rows = try await database.rows(
            Self.moveMessages, ["\(node)", "\(waitsForLock)"], as: .feed, lockWait: Self.lockWait)
        return rows.text(0, 0).flatMap(Outcome.init) ?? .idle
    }

    /// The result of `app.move_messages`.
    private enum Outcome: String {
        /// No message is left to move.
        case idle = "none"

        /// Another node has the lease.
        case leasedElsewhere = "led"

        /// Other transactions lock the conversations.
        case locked
        case moved
    }

    private static let moveMessages = Statement("app.move_messages", "select app.move_messages($1::uuid, $2::boolean)")
}
