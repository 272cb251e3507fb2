import ChangeFeed
import Concurrency
import NIOCore
import Synchronization
import WireProtocol

/// The shared state of all connections of one event loop: an inbox for orders from any thread, one flush per connection
/// and tick, and one timer for all deadlines.
final class LineLoop: PushTarget {
    let eventLoop: any EventLoop

    /// The executor of the loop's sessions and of all tasks that serve its connections.
    let executor: LoopExecutor
    private let actor: LoopActor
    private let budget: NIOLoopBound<TurnBudget>

    private let metrics: LineMetrics
    private let queuedBytes: QueuedBytes

    private let inbox = Mutex(Inbox())
    private let local: NIOLoopBound<Local>

    /// An order to one connection.
    enum Order: Sendable {
        case startPushes(cursor: String)
        case stopPushes
        case fallBehind
        case noteCursor(String)
        case setExpiry(Expiry?)
        case goodbye(Goodbye, keepingAnswers: Bool = true)
    }

    private enum InboxItem: Sendable {
        case order(Order, ConnectionSink)
        case pushes([Multicast], written: @Sendable () -> Void)
    }

    private struct Inbox {
        var items: [InboxItem] = []

        /// True if the loop was already woken for the items.
        var isAnnounced = false
    }

    /// State that only the event loop accesses.
    private final class Local {
        var connections: [ConnectionHandler] = []
        var unflushed: [ConnectionHandler] = []
        var isFlushScheduled = false
        var sweeping: RepeatedTask?

        /// The bytes that waited for clients at the last sweep.
        var waitingBytes = 0

        /// The response bytes among `waitingBytes`.
        var queuedBytes = 0

        /// The items being processed. The array is kept to reuse its memory.
        var reading: [InboxItem] = []

        /// Callbacks for the next flush, which confirm that pushes are written.
        var writers: [@Sendable () -> Void] = []
    }

    /// Creates the state. Must be called on `eventLoop`.
    init(_ eventLoop: any EventLoop, metrics: LineMetrics, queuedBytes: QueuedBytes) {
        self.eventLoop = eventLoop
        executor = LoopExecutor(eventLoop)
        actor = LoopActor(executor)
        budget = NIOLoopBound(TurnBudget.of(eventLoop), eventLoop: eventLoop)
        self.metrics = metrics
        self.queuedBytes = queuedBytes
        self.local = NIOLoopBound(Local(), eventLoop: eventLoop)
    }

    /// The loop's turn budget. Must be read on the loop.
    var turnBudget: TurnBudget { budget.value }

    /// Posts an order to a connection, from any thread. Orders that arrive before the loop runs share one wake-up.
    func post(_ order: Order, to sink: ConnectionSink) { self.post(.order(order, sink)) }

    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void) {
        post(.pushes(pushes, written: written))
    }

    private func post(_ item: InboxItem) {
        let isFirst = self.inbox.withLock { inbox in
            inbox.items.append(item)
            defer { inbox.isAnnounced = true }
            return !inbox.isAnnounced
        }
        guard isFirst else { return }
        eventLoop.execute {
            self.drainInbox()
            self.flush()
        }
    }

    /// Starts a task on the loop. The caller must ensure that it ends. Must be called on the loop.
    @discardableResult
    func begin(_ work: @escaping @Sendable (isolated LoopActor) async -> Void) -> Task<Void, Never> {
        actor.assumeIsolated { $0.begin(work) }
    }

    /// Runs `body` for every connection of the loop, from any thread.
    func forEach(_ body: @escaping @Sendable (ConnectionHandler) -> Void) {
        eventLoop.execute {
            for connection in self.local.value.connections { body(connection) }
            self.flush()
        }
    }

    /// Executes all posted orders. This and the functions below must be called on the loop.
    func drainInbox() {
        let local = self.local.value
        // An order can re-enter. The outer call processes the items.
        guard local.reading.isEmpty else { return }
        self.inbox.withLock { inbox in
            swap(&inbox.items, &local.reading)
            inbox.isAnnounced = false
        }
        guard !local.reading.isEmpty else { return }
        for item in local.reading {
            switch item {
            case .order(let order, let sink): sink.connection?.carryOut(order)
            case .pushes(let pushes, let written):
                for shared in pushes { push(shared, alone: pushes.count == 1) }
                local.writers.append(written)
            }
        }
        let isLarge = local.reading.count > 4_096
        local.reading.removeAll(keepingCapacity: !isLarge)
    }

    /// Delivers a push to its receivers.
    ///
    /// - Parameter alone: true if the receivers get nothing else now, so that it is written at once. Otherwise each
    ///   session gets all its pushes in one write.
    private func push(_ shared: Multicast, alone: Bool) {
        let now = NIODeadline.now()
        for receiver in shared.receivers {
            (receiver as? ConnectionSink)?.connection?.push(shared.push, now, atOnce: alone)
        }
        metrics.pushed(shared.receivers.count)
    }

    /// Schedules a flush of the connection's queue for the end of this tick.
    func flushLater(_ connection: ConnectionHandler) {
        let local = self.local.value
        local.unflushed.append(connection)
        guard !local.isFlushScheduled else { return }
        local.isFlushScheduled = true
        eventLoop.execute { self.flush() }
    }

    private func flush() {
        let local = self.local.value
        local.isFlushScheduled = false
        var connections: [ConnectionHandler] = []
        swap(&connections, &local.unflushed)
        for connection in connections where !connection.flushIsDue() { local.unflushed.append(connection) }
        let writers = local.writers
        local.writers = []
        for written in writers { written() }
        if local.unflushed.isEmpty {
            // Reuses the memory, unless it comes from a rare burst.
            guard connections.count <= 4_096 else { return }
            connections.removeAll(keepingCapacity: true)
            swap(&connections, &local.unflushed)
        } else if !local.isFlushScheduled {
            local.isFlushScheduled = true
            eventLoop.execute { self.flush() }
        }
    }

    func add(_ connection: ConnectionHandler) {
        let local = self.local.value
        connection.index = local.connections.count
        local.connections.append(connection)
    }

    func remove(_ connection: ConnectionHandler) {
        let local = self.local.value
        guard let index = connection.index else { return }
        connection.index = nil
        let last = local.connections.removeLast()
        guard last !== connection else { return }
        local.connections[index] = last
        last.index = index
    }

    /// Starts to check the deadlines and the waiting bytes of all connections, once per interval.
    func startSweeping(every interval: Duration) {
        let local = self.local.value
        let delay = TimeAmount(interval)
        local.sweeping = eventLoop.scheduleRepeatedTask(initialDelay: delay, delay: delay) { _ in
            let now = NIODeadline.now()
            // A copy, since closed connections leave the list.
            let connections = self.local.value.connections
            for connection in connections { connection.sweep(now) }
            let waiting = self.local.value.connections.reduce(0) { $0 + $1.state.queue.waitingBytes }
            self.metrics.queueBytesChanged(by: waiting - self.local.value.waitingBytes)
            self.local.value.waitingBytes = waiting
            self.boundQueuedBytes()
            self.flush()
        }
    }

    /// Closes this loop's connections with the most queued bytes until all loops together are within the bound.
    private func boundQueuedBytes() {
        let local = self.local.value
        let queued = local.connections.reduce(0) { $0 + $1.state.queuedBytes }
        var excess = queuedBytes.changed(by: queued - local.queuedBytes)
        local.queuedBytes = queued
        guard excess > 0 else { return }
        // Connections with little waiting are within the allowance of each connection.
        let largest = local.connections.map { (bytes: $0.state.queuedBytes, connection: $0) }
            .filter { $0.bytes > 65_536 && !$0.connection.state.isLeaving }.sorted { $0.bytes > $1.bytes }
        for (bytes, connection) in largest where excess > 0 {
            excess -= bytes
            metrics.overloaded()
            connection.carryOut(.goodbye(.overloaded, keepingAnswers: false))
        }
    }

    func stopSweeping() {
        local.value.sweeping?.cancel()
        local.value.sweeping = nil
    }
}
