internal import Postgres
internal import Threads

/// Coalesces requests: those that arrive during a call share the next one.
///
/// An idle coalescer calls at once. Under load each call carries all waiting requests, so that they need few calls and
/// one connection.
actor RequestCoalescer<Question: Sendable, Reply: Sendable> {
    /// Calls the database with several questions, and returns a reply for each, in order.
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

        /// This waiter must make the next call.
        case asks
    }

    private nonisolated let reactor: Reactor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - waitTimeout: the maximum wait. A request that exceeds it fails when its call would begin.
    ///   - reactor: the thread of the database's connections.
    init(mostAtOnce: Int, waitTimeout: Duration = .seconds(30), on reactor: Reactor, _ ask: @escaping Ask) {
        self.mostAtOnce = mostAtOnce
        waiting = WaitingQueue(waitTimeout: waitTimeout)
        self.reactor = reactor
        self.ask = ask
    }

    /// The number of requests that wait for the running call.
    var waitingCount: Int { waiting.count }

    /// Returns the reply of a call that began after this was called.
    ///
    /// - Throws: `unavailable` after the wait timeout, or the call's error, to all that shared it.
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
