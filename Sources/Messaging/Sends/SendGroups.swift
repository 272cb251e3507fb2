internal import Logging
internal import Metrics
internal import NIOCore
internal import Postgres
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
actor SendGroups {
    /// What became of a text: its message as it is answered, or nil where nothing is written and it is to be sent alone.
    typealias Outcome = Result<ByteBuffer?, ProtocolError>

    /// What a client's texts must do.
    private enum Turn {
        /// Each is written, or failed, or is to be sent outside of groups.
        case over([Outcome])

        /// It is a group of one, which its own task sends.
        case alone
    }

    /// Texts that one client sent one after another.
    private struct Waiter {
        let texts: [OutgoingText]
        let turn: CheckedContinuation<Turn, Never>
    }

    private let database: Database
    private let logger: Logger
    private let sizes: Recorder

    /// Told that something may have been written.
    private let changed: @Sendable () -> Void

    private var waiting: WaitingQueue<Waiter>
    private var waitingTexts = 0

    /// How many groups are under way, those of one included, and the conversations of their texts.
    private var groupsUnderWay = 0
    private var conversations: Set<ID> = []

    /// Those who send groups, as long as they have none.
    private var idle: [CheckedContinuation<[Waiter], Never>] = []
    private var isEnding = false

    private nonisolated let reactor: Reactor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// How many groups may be under way at once. With two at any time the groups are half as large, and the same texts
    /// take the database longer (docs/performance.md).
    private static let width = 2

    /// How many texts are sent together at most.
    private static let mostTogether = 64

    /// For how long a group waits for a lock, and one of one, which has less to lose.
    private static let lockWait = Duration.milliseconds(100)
    private static let lockWaitAlone = Duration.milliseconds(10)

    /// - Parameters:
    ///   - patience: how long a text waits for its turn; it learns that when it would be.
    ///   - changed: called when a group may have been written.
    init(
        database: Database, patience: Duration, logger: Logger, metrics: any MetricsFactory,
        changed: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.logger = logger
        self.changed = changed
        reactor = database.reactor
        waiting = WaitingQueue(patience: patience)
        sizes = Recorder(label: "postline_send_group_size", factory: metrics)
    }

    /// Sends groups until it is cancelled; what comes then is sent alone.
    func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                for _ in 0..<Self.width { group.addTask(executorPreference: reactor) { await self.sendGroups() } }
            }
        } onCancel: {
            reactor.submit { self.assumeIsolated { $0.end() } }
        }
    }

    /// Sends texts of one client in their order, perhaps together with others.
    ///
    /// - Returns: as many outcomes; `unavailable` where they had to wait for too long.
    func send(_ texts: [OutgoingText]) async -> [Outcome] {
        if texts.isEmpty { return [] }
        let turn: Turn = await suspended { caller in
            if groupsUnderWay == 0, texts.count == 1 {
                begin(texts)
                return .over(.alone)
            }
            waiting.append(Waiter(texts: texts, turn: caller))
            waitingTexts += texts.count
            beginNext()
            return .kept
        }
        switch turn {
        case .over(let outcomes): return outcomes
        case .alone:
            let outcome = await sendAlone(texts[0])
            ended(texts)
            return [outcome]
        }
    }
}

extension SendGroups {
    private func begin(_ texts: [OutgoingText]) {
        groupsUnderWay += 1
        for text in texts { conversations.insert(text.conversation) }
        sizes.record(texts.count)
    }

    private func ended(_ texts: [OutgoingText]) {
        groupsUnderWay -= 1
        for text in texts { conversations.remove(text.conversation) }
        changed()
        beginNext()
    }

    /// Begins as many groups as may be.
    private func beginNext() {
        for late in waiting.popLate() {
            waitingTexts -= late.texts.count
            late.turn.resume(returning: .over(late.texts.map { _ in .failure(.unavailable) }))
        }
        while groupsUnderWay == 0 || groupsUnderWay < Self.width && waitingTexts >= Self.mostTogether {
            var selection = SendSelection(most: Self.mostTogether, busy: conversations)
            let group = waiting.popFirst(Self.mostTogether) { selection.takes($0.texts) }
            guard let first = group.first else { return }
            waitingTexts -= selection.count
            if selection.count == 1 {
                begin(first.texts)
                first.turn.resume(returning: .alone)
            } else if let sender = idle.popLast() {
                begin(group.flatMap(\.texts))
                sender.resume(returning: group)
            } else {
                // As many send groups as may be under way: there is none only before the service runs, and after.
                for waiter in group { waiter.turn.resume(returning: .over(waiter.texts.map { _ in .success(nil) })) }
            }
        }
    }

    /// Gives each group that is begun its answers, until there will be none.
    private func sendGroups() async {
        while true {
            let group: [Waiter] = await suspended { caller in
                if isEnding { return .over([]) }
                idle.append(caller)
                return .kept
            }
            if group.isEmpty { return }
            let texts = group.flatMap(\.texts)
            var outcomes = await sendTogether(texts)[...]
            ended(texts)
            for waiter in group {
                waiter.turn.resume(returning: .over(Array(outcomes.prefix(waiter.texts.count))))
                outcomes = outcomes.dropFirst(waiter.texts.count)
            }
        }
    }

    private func end() {
        isEnding = true
        for sender in idle { sender.resume(returning: []) }
        idle = []
        beginNext()
    }

    private static let sendMessages = Statement(
        "app.send_messages",
        "select place, object from app.send_messages($1::uuid[], $2::uuid[], $3::text[], $4::uuid[])")

    private func sendTogether(_ texts: [OutgoingText]) async -> [Outcome] {
        do throws(PostgresError) {
            let rows = try await database.rows(
                Self.sendMessages, texts.parameters, as: .senders, lockWait: Self.lockWait)
            var answers: [ByteBuffer?] = Array(repeating: nil, count: texts.count)
            for row in 0..<rows.count {
                guard let place = rows.text(row, 0).flatMap({ Int($0) }), answers.indices ~= place - 1 else { continue }
                answers[place - 1] = rows.buffer(row, 1)
            }
            return answers.map { .success($0) }
        } catch {
            return Array(repeating: outcome(of: error), count: texts.count)
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
