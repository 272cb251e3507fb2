internal import Postgres
internal import Threads

/// Coalesces requests: those that come while a call is under way share the next one.
///
/// At rest a question is asked at once and alone. Of thousands that come at once, each call takes as many as wait, so
/// that they cost the database few calls, and one connection.
actor RequestCoalescer<Question: Sendable, Reply: Sendable> {
    /// Asks the database; gives as many replies as there are questions, in their order.
    typealias Ask = @Sendable ([Question]) async throws(ProtocolError) -> [Reply]

    private let mostAtOnce: Int
    private let ask: Ask
    private var isAsking = false
    private var waiting: WaitingQueue<Waiter>

    private struct Waiter {
        let question: Question
        let turn: CheckedContinuation<Turn, Never>
    }

    private enum Turn {
        case answered(Result<Reply, ProtocolError>)

        /// The next call is this waiter's to make.
        case asks
    }

    private nonisolated let reactor: Reactor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - waitTimeout: for how long one waits that is asked for still; it learns that when its call would begin.
    ///   - reactor: the thread of the database's connections.
    init(mostAtOnce: Int, waitTimeout: Duration = .seconds(30), on reactor: Reactor, _ ask: @escaping Ask) {
        self.mostAtOnce = mostAtOnce
        waiting = WaitingQueue(waitTimeout: waitTimeout)
        self.reactor = reactor
        self.ask = ask
    }

    /// How many wait for the call that is under way to end.
    var waitingCount: Int { waiting.count }

    /// The reply of a call that began after this was called.
    ///
    /// - Throws: `unavailable` where that took too long, or what the call throws, to all who shared it.
    func load(_ question: Question) async throws(ProtocolError) -> Reply {
        let turn: Turn = await withSuspension { caller in
            if isAsking {
                waiting.append(Waiter(question: question, turn: caller))
                return .suspend
            }
            isAsking = true
            return .resume(.asks)
        }
        if case .answered(let result) = turn { return try result.get() }
        let others = waiting.popFirst(mostAtOnce - 1)
        let result: Result<[Reply], ProtocolError>
        do throws(ProtocolError) {
            let replies = try await ask([question] + others.map(\.question))
            guard replies.count == others.count + 1 else { throw .fault("there are not as many replies as questions") }
            result = .success(replies)
        } catch {
            result = .failure(error)
        }
        for late in waiting.popLate() { late.turn.resume(returning: .answered(.failure(.unavailable))) }
        if let next = waiting.popFirst() { next.turn.resume(returning: .asks) } else { isAsking = false }
        for (index, other) in others.enumerated() {
            other.turn.resume(returning: .answered(result.map { $0[index + 1] }))
        }
        return try result.get()[0]
    }
}
