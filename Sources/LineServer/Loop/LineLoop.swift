internal import EventLoops
import Messaging
import NIOCore
import Synchronization

/// What the connections of one event loop share: a inbox for what sessions ask of them from any thread, one flush a
/// connection a tick, and one timer for all their deadlines.
final class LineLoop: PushTarget {
    let eventLoop: any EventLoop

    /// That of its sessions, and of all tasks that serve its connections.
    let executor: LoopExecutor
    private let actor: LoopActor
    private let budget: NIOLoopBound<TurnBudget>

    private let metrics: LineMetrics
    private let answers: UnwrittenAnswers

    private let inbox = Mutex(Inbox())
    private let local: NIOLoopBound<Local>

    /// What one caller asks of one connection.
    enum Order: Sendable {
        case startPushes(cursor: String)
        case stopPushes
        case fallBehind
        case noteCursor(String)
        case setExpiry(Expiry?)
        case goodbye(Goodbye, keepingAnswers: Bool = true)
    }

    private enum Message: Sendable {
        case order(Order, ConnectionSink)
        case pushes([Multicast], written: @Sendable () -> Void)
    }

    private struct Inbox {
        var messages: [Message] = []

        /// Whether the loop has been told that there are messages.
        var isAnnounced = false
    }

    /// What only the event loop touches.
    private final class Local {
        var connections: [ConnectionHandler] = []
        var unflushed: [ConnectionHandler] = []
        var isFlushScheduled = false
        var sweeping: RepeatedTask?

        /// What waited for clients at the last sweep.
        var waitingBytes = 0

        /// How much of that were answers.
        var unwrittenAnswerBytes = 0

        /// Messages that are being read; kept so that its memory serves again.
        var reading: [Message] = []

        /// Those to be told at the next flush that what they pushed is written.
        var writers: [@Sendable () -> Void] = []
    }

    /// - Parameter eventLoop: the event loop on which this is called.
    init(_ eventLoop: any EventLoop, metrics: LineMetrics, answers: UnwrittenAnswers) {
        self.eventLoop = eventLoop
        executor = LoopExecutor(eventLoop)
        actor = LoopActor(executor)
        budget = NIOLoopBound(TurnBudget.of(eventLoop), eventLoop: eventLoop)
        self.metrics = metrics
        self.answers = answers
        self.local = NIOLoopBound(Local(), eventLoop: eventLoop)
    }

    /// Only for the loop.
    var turnBudget: TurnBudget { budget.value }

    /// Gives a connection an order, from any thread. However many come before the loop gets to them cost it one
    /// wake-up.
    func post(_ order: Order, to sink: ConnectionSink) { self.post(.order(order, sink)) }

    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void) {
        post(.pushes(pushes, written: written))
    }

    private func post(_ message: Message) {
        let isFirst = self.inbox.withLock { inbox in
            inbox.messages.append(message)
            defer { inbox.isAnnounced = true }
            return !inbox.isAnnounced
        }
        guard isFirst else { return }
        eventLoop.execute {
            self.drainInbox()
            self.flush()
        }
    }

    /// Begins a task that lives on the loop. Whoever begins it sees to it that it ends. Only for the loop.
    @discardableResult
    func begin(_ work: @escaping @Sendable (isolated LoopActor) async -> Void) -> Task<Void, Never> {
        actor.assumeIsolated { $0.begin(work) }
    }

    /// Does something with every connection of the loop, from any thread.
    func forEach(_ body: @escaping @Sendable (ConnectionHandler) -> Void) {
        eventLoop.execute {
            for connection in self.local.value.connections { body(connection) }
            self.flush()
        }
    }

    /// Carries out all orders given so far. This and what follows is only for the loop.
    func drainInbox() {
        let local = self.local.value
        // An order can lead here again; the messages being read are then in good hands.
        guard local.reading.isEmpty else { return }
        self.inbox.withLock { inbox in
            swap(&inbox.messages, &local.reading)
            inbox.isAnnounced = false
        }
        guard !local.reading.isEmpty else { return }
        for message in local.reading {
            switch message {
            case .order(let order, let sink): sink.connection?.carryOut(order)
            case .pushes(let pushes, let written):
                for shared in pushes { push(shared, alone: pushes.count == 1) }
                local.writers.append(written)
            }
        }
        let isLarge = local.reading.count > 4_096
        local.reading.removeAll(keepingCapacity: !isLarge)
    }

    /// - Parameter alone: whether it is all that its receivers get now: then it leaves at once. Otherwise one write a
    ///   session takes all that the session gets.
    private func push(_ shared: Multicast, alone: Bool) {
        let now = NIODeadline.now()
        for receiver in shared.receivers {
            (receiver as? ConnectionSink)?.connection?.push(shared.push, now, atOnce: alone)
        }
        metrics.pushed(shared.receivers.count)
    }

    /// Writes the connection's queue out at the end of this tick, with all that is queued until then.
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
            // The memory serves again, unless it is a rare burst's.
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

    /// Begins to look at the deadlines of all connections, once an interval, and at how much waits for their clients.
    func startSweeping(every interval: Duration) {
        let local = self.local.value
        let delay = TimeAmount(interval)
        local.sweeping = eventLoop.scheduleRepeatedTask(initialDelay: delay, delay: delay) { _ in
            let now = NIODeadline.now()
            // A copy, since a connection that is closed by this leaves the list.
            let connections = self.local.value.connections
            for connection in connections { connection.sweep(now) }
            let waiting = self.local.value.connections.reduce(0) { $0 + $1.state.queue.waitingBytes }
            self.metrics.queueBytesChanged(by: waiting - self.local.value.waitingBytes)
            self.local.value.waitingBytes = waiting
            self.boundUnwrittenAnswers()
            self.flush()
        }
    }

    /// Cuts off the clients of this loop that most answers wait for, until those of all loops are within the bound.
    private func boundUnwrittenAnswers() {
        let local = self.local.value
        let unwritten = local.connections.reduce(0) { $0 + $1.state.queue.unwrittenAnswerBytes }
        var excess = answers.changed(by: unwritten - local.unwrittenAnswerBytes)
        local.unwrittenAnswerBytes = unwritten
        guard excess > 0 else { return }
        // Those with little waiting are within what every connection may have.
        let largest = local.connections.map { (bytes: $0.state.queue.unwrittenAnswerBytes, connection: $0) }
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
