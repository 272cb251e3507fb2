package import NIOCore
import Synchronization

/// A bound for the work that begins on an event loop before the loop polls its sockets again.
///
/// NIO runs queued and due tasks until none is left, and only then polls sockets. Each subsequent line or HTTP request
/// queues its own task. Without a bound, a connection with many pipelined requests would starve all others. Work beyond
/// the bound waits 1 ms, in which the loop runs out of tasks and polls. It then resumes in order.
///
/// Each event loop has its own budget, used on that loop only.
package final class TurnBudget {
    /// The cost that may begin in one turn. A line costs 1.
    package static let whole = 32

    private static let pause = TimeAmount.milliseconds(1)

    /// The budgets of all event loops, which live as long as the process.
    private static let all = Mutex<[ObjectIdentifier: NIOLoopBound<TurnBudget>]>([:])

    private let eventLoop: any EventLoop
    private var spent = 0
    private var waiting: [(cost: Int, start: () -> Void)] = []
    private var isPaused = false

    private init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    /// Returns the budget of an event loop. Must be called on that loop.
    package static func of(_ eventLoop: any EventLoop) -> TurnBudget {
        all.withLock { all in
            if let budget = all[ObjectIdentifier(eventLoop)] { return budget }
            let budget = NIOLoopBound(TurnBudget(eventLoop), eventLoop: eventLoop)
            all[ObjectIdentifier(eventLoop)] = budget
            return budget
        }.value
    }

    /// Resets the budget: the loop reads from sockets only between turns.
    package func hasRead() { spent = 0 }

    /// Runs `start` now, or in a later turn if this turn's budget is spent.
    package func begin(cost: Int = 1, _ start: @escaping () -> Void) {
        guard spent < Self.whole else { return wait(cost, start) }
        spent += cost
        start()
    }

    private func wait(_ cost: Int, _ start: @escaping () -> Void) {
        waiting.append((cost, start))
        guard !isPaused else { return }
        isPaused = true
        eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.resume() }
    }

    private func resume() {
        isPaused = false
        spent = 0
        let waited = waiting
        waiting = []
        for (cost, start) in waited { begin(cost: cost, start) }
    }
}
