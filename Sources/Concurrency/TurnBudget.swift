package import Foundations
package import NIOCore
import Synchronization

/// A bound for the work that begins on an event loop before the loop polls its sockets again.
///
/// NIO runs queued and due tasks until none is left, and only then polls sockets. Each line or HTTP request queues its
/// own task. Without a bound, a connection with many pipelined requests would starve all others, and so would many
/// connections that are read at once: lines of 61 KB on 1,200 connections took the loops for 8 s. Work beyond the bound
/// waits 1 ms, in which the loop runs out of tasks and polls. Then client addresses take turns.
///
/// Each event loop has its own budget, used on that loop only.
package final class TurnBudget {
    /// The cost that may begin after a read of one connection, or of waiting work in one turn. A line costs 1.
    package static let whole = 32

    /// The cost that may begin after the reads of all connections in one turn.
    package static let wholeOfReads = 256

    private static let pause = TimeAmount.milliseconds(1)

    /// The budgets of all event loops, which live as long as the process.
    private static let all = Mutex<[ObjectIdentifier: NIOLoopBound<TurnBudget>]>([:])

    private struct Work {
        let cost: Int

        /// Begins the work. Returns false if it is void, since its connection has closed.
        let start: () -> Bool
    }

    private let eventLoop: any EventLoop
    private var spent = 0
    private var spentOfReads = 0

    /// True from the first read of a turn until the loop has read all its sockets.
    private var isReading = false
    private var waiting: [AddressKey: CircularBuffer<Work>] = [:]

    /// The addresses of `waiting`, the next to be served first.
    private var turns = CircularBuffer<AddressKey>()
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

    /// The number of beginnings that wait for a later turn.
    package var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// Resets the budget for the connection that was read: the loop reads from sockets only between turns.
    package func hasRead() {
        spent = 0
        guard !isReading else { return }
        isReading = true
        spentOfReads = 0
        // The loop runs tasks after it has read all sockets.
        eventLoop.assumeIsolated().execute { self.isReading = false }
    }

    /// Runs `start` now, or in a later turn if this turn's budget is spent.
    ///
    /// - Parameters:
    ///   - client: the address of the client. An address with waiting work waits for it.
    ///   - start: begins the work, or returns false if it is void.
    package func begin(cost: Int = 1, of client: @autoclosure () -> AddressKey, _ start: @escaping () -> Bool) {
        // Mostly nothing waits, and the key of an address costs more than the rest.
        if spent < Self.whole, spentOfReads < Self.wholeOfReads, turns.isEmpty || waiting[client()] == nil {
            if start() {
                spent += cost
                spentOfReads += cost
            }
            return
        }
        let client = client()
        if waiting[client] == nil { turns.append(client) }
        waiting[client, default: CircularBuffer()].append(Work(cost: cost, start: start))
        pause()
    }

    /// Resumes the caller now, or in a later turn if this turn's budget is spent.
    package func resume(
        _ caller: CheckedContinuation<Void, Never>, cost: Int = 1, of client: @autoclosure () -> AddressKey
    ) {
        begin(cost: cost, of: client()) {
            caller.resume()
            return true
        }
    }

    /// Removes the first work of the next address, which is then served last.
    private func popFirst() -> Work? {
        guard let client = turns.popFirst(), let work = waiting[client]?.popFirst() else { return nil }
        if waiting[client]?.isEmpty == true { waiting[client] = nil } else { turns.append(client) }
        return work
    }

    private func pause() {
        guard !isPaused else { return }
        isPaused = true
        eventLoop.assumeIsolated().scheduleTask(in: Self.pause) { self.resume() }
    }

    private func resume() {
        isPaused = false
        spent = 0
        spentOfReads = 0
        while spent < Self.whole, let work = popFirst() {
            if work.start() { spent += work.cost }
        }
        if !turns.isEmpty { pause() }
    }
}
