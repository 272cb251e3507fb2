internal import Logging
internal import Metrics
internal import NIOCore
internal import Postgres
internal import Synchronization
internal import Threads

/// Sends texts, those that come while others are under way together: most of what a send costs the database is starting
/// and ending a statement and its transaction, which a group does once.
///
/// A text that comes when nothing is under way is sent at once, and alone: there is no timer, and nothing waits for
/// company. What comes meanwhile goes as the next group, when the one under way has ended or as soon as it is full.
/// Texts of one conversation are never in two groups at once, so that they do not wait for each other's lock, and keep
/// the order in which they came (``SendSelection``).
///
/// A group never waits for a conversation that somebody else has locked, and for other locks only a moment. What it
/// cannot write it leaves out, and whoever sends it does that alone then, with all the time that a request has, and
/// hears what is wrong with it. So one text's fault, or wait, is not another's. Where a group fails whole, and nothing
/// of it was written, so are all of its texts. Where nobody knows (the connection was lost before the answer), all are
/// told so, as one alone would be.
///
/// Clients come to it on their own threads, and their answers go to them there; the groups are sent on the pool's. What it
/// decides is decided under a lock, so that nobody changes threads for it.
final class SendGroups: Sendable {
    /// What became of a text: its message as it is answered, or nil where nothing is written and it is to be sent alone.
    typealias Outcome = Result<ByteBuffer?, ProtocolError>

    /// What a client's texts must do.
    private enum Turn {
        /// Each is written, or failed, or is to be sent outside of groups.
        case over([Outcome])

        /// It is a group of one, which its own task sends.
        case alone
    }

    private typealias Queue = SendQueue<CheckedContinuation<Turn, Never>, CheckedContinuation<[Waiter], Never>>
    private typealias Waiter = SendWaiter<CheckedContinuation<Turn, Never>>

    private let database: Database
    private let logger: Logger
    private let sizes: Recorder

    /// Called before a group is written, and after it has ended.
    private let writeWillBegin: @Sendable () -> Void
    private let writeDidEnd: @Sendable () -> Void

    private let queue: Mutex<Queue>

    /// For how long a group waits for a lock, and one of one, which has less to lose.
    private static let lockWait = Duration.milliseconds(100)
    private static let lockWaitAlone = Duration.milliseconds(10)

    /// - Parameters:
    ///   - waitTimeout: how long a text waits for its turn; it learns that when it would be.
    ///   - writeWillBegin: called before a group is written.
    ///   - writeDidEnd: called when it has ended, committed or not.
    init(
        database: Database, waitTimeout: Duration, logger: Logger, metrics: any MetricsFactory,
        writeWillBegin: @escaping @Sendable () -> Void, writeDidEnd: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.logger = logger
        self.writeWillBegin = writeWillBegin
        self.writeDidEnd = writeDidEnd
        queue = Mutex(Queue(waitTimeout: waitTimeout))
        sizes = Recorder(label: "postline_send_batch_size", factory: metrics)
    }

    /// Sends groups until it is cancelled; what comes then is sent alone. To be run on the pool's thread.
    func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for _ in 0..<Queue.width {
                    group.addTask(executorPreference: self.database.reactor) { await self.sendGroups() }
                }
            }
        } onCancel: {
            perform(queue.withLock { $0.end() })
        }
    }

    /// Sends texts of one client in their order, perhaps together with others.
    ///
    /// - Returns: as many outcomes; `unavailable` where they had to wait for too long.
    func send(_ texts: [OutgoingText]) async -> [Outcome] {
        if texts.isEmpty { return [] }
        let turn: Turn = await withSuspension { caller in
            let steps = queue.withLock { $0.take(Waiter(texts: texts, caller: caller)) }
            guard let steps else { return .resume(.alone) }
            perform(steps)
            return .suspend
        }
        switch turn {
        case .over(let outcomes): return outcomes
        case .alone:
            sizes.record(1)
            writeWillBegin()
            let outcome = await sendAlone(texts[0])
            ended(texts)
            return [outcome]
        }
    }
}

extension SendGroups {
    private func perform(_ steps: [Queue.Step]) {
        for step in steps {
            switch step {
            case .late(let waiter):
                waiter.caller.resume(returning: .over(waiter.texts.map { _ in .failure(.unavailable) }))
            case .alone(let waiter): waiter.caller.resume(returning: .alone)
            case .together(let group, let sender): sender.resume(returning: group)
            case .apart(let waiters):
                for waiter in waiters {
                    waiter.caller.resume(returning: .over(waiter.texts.map { _ in .success(nil) }))
                }
            }
        }
    }

    private func ended(_ texts: [OutgoingText]) {
        perform(queue.withLock { $0.ended(texts) })
        writeDidEnd()
    }

    /// Gives each group that is begun its answers, until there will be none.
    private func sendGroups() async {
        while true {
            let group: [Waiter] = await withSuspension { caller in
                queue.withLock { $0.wait(caller) } ? .suspend : .resume([])
            }
            if group.isEmpty { return }
            let texts = group.flatMap(\.texts)
            sizes.record(texts.count)
            writeWillBegin()
            let result = await query(texts)
            ended(texts)
            // The next group goes to the database before those of this one learn what became of it.
            await Task.yield()
            var outcomes = outcomes(of: result, texts.count)[...]
            for waiter in group {
                waiter.caller.resume(returning: .over(Array(outcomes.prefix(waiter.texts.count))))
                outcomes = outcomes.dropFirst(waiter.texts.count)
            }
        }
    }

    private static let sendMessages = Statement(
        "app.send_messages",
        "select place, object from app.send_messages($1::uuid[], $2::uuid[], $3::text[], $4::uuid[])")

    private func query(_ texts: [OutgoingText]) async -> Result<Rows, PostgresError> {
        do throws(PostgresError) {
            return .success(
                try await database.rows(Self.sendMessages, texts.parameters, as: .senders, lockWait: Self.lockWait))
        } catch {
            return .failure(error)
        }
    }

    private func outcomes(of result: Result<Rows, PostgresError>, _ count: Int) -> [Outcome] {
        switch result {
        case .success(let rows):
            var answers: [ByteBuffer?] = Array(repeating: nil, count: count)
            for row in 0..<rows.count {
                guard let place = rows.text(row, 0).flatMap({ Int($0) }), answers.indices ~= place - 1 else { continue }
                answers[place - 1] = rows.buffer(row, 1)
            }
            return answers.map { .success($0) }
        case .failure(let error): return Array(repeating: outcome(of: error), count: count)
        }
    }

    /// What is told to all of a group that failed. Where PostgreSQL refused it, nothing was written, and each is sent
    /// alone.
    private func outcome(of error: PostgresError) -> Outcome {
        guard case .server(let refusal) = error else { return .failure(ProtocolError(error)) }
        if refusal.sqlState == .lockNotAvailable { return .success(nil) }
        let told = ProtocolError(error)
        if told.code == .unavailable || told.code == .timeout { return .failure(told) }
        logger.error("texts are not sent together, but one by one", metadata: ["error": "\(refusal)"])
        return .success(nil)
    }

    private func sendAlone(_ text: OutgoingText) async -> Outcome {
        do throws(PostgresError) {
            let rows = try await database.rows(
                Session.sendMessage, text.parameters, as: text.caller, lockWait: Self.lockWaitAlone)
            return .success(rows.buffer(0, 0))
        } catch {
            if case .server(let refusal) = error, refusal.sqlState == .lockNotAvailable { return .success(nil) }
            return .failure(ProtocolError(error))
        }
    }
}
