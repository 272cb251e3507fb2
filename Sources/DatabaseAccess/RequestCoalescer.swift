import Concurrency
package import Postgres
package import WireProtocol

/// Coalesces requests: those that arrive during a call share the next one.
///
/// An idle coalescer calls at once. Under load each call carries all waiting requests, so that they need few calls and
/// one connection. A client that is cancelled ends no call, since others may share it.
package actor RequestCoalescer<Request: Sendable, Reply: Sendable> {
    /// Calls the database with several requests, and returns a reply for each, in order.
    package typealias BatchCall = @Sendable ([Request]) async throws(ProtocolError) -> [Reply]

    private let maxBatchSize: Int
    private let call: BatchCall
    private var isCalling = false
    private var waiting: WaitingQueue<Waiter>

    private struct Waiter {
        let request: Request
        let turn: CheckedContinuation<Turn, Never>
    }

    private enum Turn {
        case answered(Result<Reply, ProtocolError>)

        /// This waiter must make the next call.
        case mustCall
    }

    private nonisolated let reactor: Reactor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - waitTimeout: the maximum wait. A request that exceeds it fails when its call would begin.
    ///   - reactor: the thread of the database's connections.
    package init(
        maxBatchSize: Int, waitTimeout: Duration = .seconds(30), on reactor: Reactor, _ call: @escaping BatchCall
    ) {
        self.maxBatchSize = maxBatchSize
        waiting = WaitingQueue(waitTimeout: waitTimeout)
        self.reactor = reactor
        self.call = call
    }

    /// The number of requests that wait for the running call.
    package var waitingCount: Int { waiting.count }

    /// Returns the reply of a call that began after this was called.
    ///
    /// - Throws: `unavailable` after the wait timeout, or the call's error, to all that shared it.
    package func load(_ request: Request) async throws(ProtocolError) -> Reply {
        let turn: Turn = await withSuspension { caller in
            if isCalling {
                waiting.append(Waiter(request: request, turn: caller))
                return .suspend
            }
            isCalling = true
            return .resume(.mustCall)
        }
        if case .answered(let result) = turn { return try result.get() }
        let others = waiting.popFirst(maxBatchSize - 1)
        let requests = [request] + others.map(\.request)
        // A task of its own, which the caller's cancellation does not reach. It ends with the call.
        let result = await Task { await replies(to: requests) }.value
        for late in waiting.popLate() { late.turn.resume(returning: .answered(.failure(.unavailable))) }
        if let next = waiting.popFirst() { next.turn.resume(returning: .mustCall) } else { isCalling = false }
        for (index, other) in others.enumerated() {
            other.turn.resume(returning: .answered(result.map { $0[index + 1] }))
        }
        return try result.get()[0]
    }

    private func replies(to requests: [Request]) async -> Result<[Reply], ProtocolError> {
        // The call is no single client's.
        await CurrentRequest.$current.withValue(nil) {
            do throws(ProtocolError) {
                let replies = try await call(requests)
                guard replies.count == requests.count else {
                    throw .fault("the call returned \(replies.count) replies for \(requests.count) requests")
                }
                return .success(replies)
            } catch {
                return .failure(error)
            }
        }
    }
}
