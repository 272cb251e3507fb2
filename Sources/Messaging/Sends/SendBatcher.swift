import Accounts
import ChangeFeed
import Concurrency
import DatabaseAccess
import Logging
import Metrics
import NIOCore
import Postgres
import Synchronization
import WireProtocol

/// Sends texts, in batches while others are in flight: most of a send's cost in the database is starting and ending a
/// statement and its transaction, which a batch does once.
///
/// A text that arrives while nothing is in flight is sent at once and individually: there is no timer. The texts that
/// arrive meanwhile form the next batch, which begins when the last one has ended or as soon as it is full. Texts of
/// one conversation are never in two batches at once, so that they do not wait for each other's lock and keep their
/// order (``SendSelection``).
///
/// A batch skips conversations that another transaction has locked, and waits a moment for other locks. The texts that
/// it cannot write are sent individually by their clients, with the whole request timeout, and get their own errors. So
/// the fault or the wait of one text does not affect another. If PostgreSQL rejects a batch, nothing of it was written,
/// and each text is sent individually. If the outcome is unknown because the connection was lost, all of its texts
/// fail, as an individual one would.
///
/// Clients call on their own threads and are answered there; batches run on the pool's thread. Scheduling decisions are
/// made under a lock, so they need no executor hop.
final class SendBatcher: Sendable {
    /// The message of a text as it is answered, or nil if the text was not written and must be sent individually.
    typealias Outcome = Result<ByteBuffer?, ProtocolError>

    /// The way in which a client's texts are sent.
    private enum Disposition {
        /// Each text was written, has failed, or must be sent outside of batches.
        case completed([Outcome])

        /// The single text is sent by its client's own task.
        case individually
    }

    private typealias Queue = SendQueue<
        CheckedContinuation<Disposition, Never>, CheckedContinuation<[Waiter], Never>
    >
    private typealias Waiter = SendWaiter<CheckedContinuation<Disposition, Never>>

    private let database: Database
    private let logger: Logger
    private let sizes: Recorder
    private let feed: Feed

    private let queue: Mutex<Queue>

    /// The longest wait for a lock. It is shorter for a text that is sent individually, since retrying one is cheap.
    private static let batchLockWait = Duration.milliseconds(100)
    private static let individualLockWait = Duration.milliseconds(10)

    /// - Parameters:
    ///   - waitTimeout: the longest wait of a text in the queue. It is checked when the queue moves.
    ///   - feed: told of each write's begin and end.
    init(
        database: Database, feed: Feed, waitTimeout: Duration, logger: Logger, metrics: any MetricsFactory
    ) {
        self.database = database
        self.logger = logger
        self.feed = feed
        queue = Mutex(Queue(waitTimeout: waitTimeout))
        sizes = Recorder(label: "postline_send_batch_size", factory: metrics)
    }

    /// Sends batches until it is cancelled. Later texts are sent individually. Call it on the pool's thread.
    func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for _ in 0..<Queue.maxBatchesInFlight {
                    group.addTask(executorPreference: self.database.reactor) { await self.sendBatches() }
                }
            }
        } onCancel: {
            perform(queue.withLock { $0.stop() })
        }
    }

    /// Sends texts of one client in their order, possibly in a batch with others.
    ///
    /// - Returns: an outcome for each text; `unavailable` if they waited too long.
    func send(_ texts: [OutgoingText]) async -> [Outcome] {
        if texts.isEmpty { return [] }
        let disposition: Disposition = await withSuspension { continuation in
            let steps = queue.withLock { $0.enqueue(Waiter(texts: texts, continuation: continuation)) }
            guard let steps else { return .resume(.individually) }
            perform(steps)
            return .suspend
        }
        switch disposition {
        case .completed(let outcomes): return outcomes
        case .individually:
            sizes.record(1)
            feed.writeWillBegin()
            let outcome = await sendIndividually(texts[0])
            batchEnded(texts)
            return [outcome]
        }
    }
}

extension SendBatcher {
    private func perform(_ steps: [Queue.Step]) {
        for step in steps {
            switch step {
            case .timedOut(let waiter):
                waiter.continuation.resume(returning: .completed(waiter.texts.map { _ in .failure(.unavailable) }))
            case .individually(let waiter): waiter.continuation.resume(returning: .individually)
            case .batch(let waiters, let sender): sender.resume(returning: waiters)
            case .unbatched(let waiters):
                for waiter in waiters {
                    waiter.continuation.resume(returning: .completed(waiter.texts.map { _ in .success(nil) }))
                }
            }
        }
    }

    private func batchEnded(_ texts: [OutgoingText]) {
        perform(queue.withLock { $0.batchEnded(texts) })
        feed.writeDidEnd()
    }

    /// Sends one batch after another until the queue is stopped.
    private func sendBatches() async {
        while true {
            let batch: [Waiter] = await withSuspension { continuation in
                queue.withLock { $0.addIdleSender(continuation) } ? .suspend : .resume([])
            }
            if batch.isEmpty { return }
            let texts = batch.flatMap(\.texts)
            sizes.record(texts.count)
            feed.writeWillBegin()
            let result = await query(texts)
            batchEnded(texts)
            // The next batch goes to the database before the clients of this one resume.
            await Task.yield()
            var outcomes = outcomes(of: result, texts.count)[...]
            for waiter in batch {
                waiter.continuation.resume(returning: .completed(Array(outcomes.prefix(waiter.texts.count))))
                outcomes = outcomes.dropFirst(waiter.texts.count)
            }
        }
    }

    private static let sendMessages = Statement(
        "app.send_messages",
        """
        select place, object from app.send_messages(\
        $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::bigint[], $6::text[], $7::boolean[], $8::text[])
        """)

    private func query(_ texts: [OutgoingText]) async -> Result<Rows, PostgresError> {
        do throws(PostgresError) {
            return .success(
                try await database.rows(
                    Self.sendMessages, texts.parameters, as: .senders, lockWait: Self.batchLockWait))
        } catch {
            return .failure(error)
        }
    }

    private func outcomes(of result: Result<Rows, PostgresError>, _ count: Int) -> [Outcome] {
        switch result {
        case .success(let rows):
            return rows.buffersByPlace(count).map { .success($0) }
        case .failure(let error): return Array(repeating: outcome(of: error), count: count)
        }
    }

    /// Returns the outcome of every text of a batch that failed. If PostgreSQL rejected the batch, nothing was written,
    /// and each text is sent individually.
    private func outcome(of error: PostgresError) -> Outcome {
        guard case .server(let serverError) = error else { return .failure(ProtocolError(error)) }
        if serverError.sqlState == .lockNotAvailable { return .success(nil) }
        let failure = ProtocolError(error)
        if failure.code == .unavailable || failure.code == .timeout { return .failure(failure) }
        logger.error("batch of texts rejected; sending them individually", metadata: ["error": "\(serverError)"])
        return .success(nil)
    }

    private func sendIndividually(_ text: OutgoingText) async -> Outcome {
        do throws(PostgresError) {
            let rows = try await database.rows(
                ConnectionSession.sendMessage, text.parameters, as: text.caller, lockWait: Self.individualLockWait)
            return .success(rows.buffer(0, 0))
        } catch {
            if case .server(let serverError) = error, serverError.sqlState == .lockNotAvailable { return .success(nil) }
            return .failure(ProtocolError(error))
        }
    }
}
