internal import Logging
internal import Postgres

/// Moves the messages of merged guests to their accounts, batch by batch, after the merge itself
/// (`sql/functions/app/message_moves.sql`).
///
/// One node at a time moves them: the one that has the lease. A batch is one transaction, so that another node goes on
/// where this one ends.
struct MessageMover: Sendable {
    let database: Database
    let logger: Logger

    /// Called after each batch: there is something to push.
    let onChange: @Sendable () -> Void

    private let node = ID.random()

    init(database: Database, logger: Logger, onChange: @escaping @Sendable () -> Void) {
        self.database = database
        self.logger = logger
        self.onChange = onChange
    }

    /// The time until the next question where nothing is left to be moved, or another node moves it.
    private static let idlePause = Duration.seconds(2)

    /// The longest wait of a batch for a conversation that many others lock.
    private static let lockWait = Duration.seconds(1)

    /// Runs until it is cancelled.
    func run() async {
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
                case .idle, .led: break
                case .locked: pause = .milliseconds(50)
                case .moved:
                    onChange()
                    // A third of one connection, and time for clients to read what is pushed.
                    pause = max(.milliseconds(20), (.now - start) * 2)
                }
            } catch {
                if Task.isCancelled { return }
                waitsForLock = false
                // A locked conversation is tried again. So is everything else: a batch that failed has changed nothing.
                if !isFailing, error.serverError?.sqlState != .lockNotAvailable {
                    isFailing = true
                    logger.warning("messages of merged guests wait", metadata: ["error": "\(error)"])
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

    /// Says what a call of `app.move_messages` has done.
    private enum Outcome: String {
        /// Nothing is left to be moved.
        case idle = "none"

        /// Another node has the lease.
        case led

        /// Others hold the locks of the conversations.
        case locked
        case moved
    }

    private static let moveMessages = Statement("app.move_messages", "select app.move_messages($1::uuid, $2::boolean)")
}
