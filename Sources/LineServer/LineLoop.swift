import Messaging
import NIOCore
import Synchronization

/// What the connections of one event loop share: a mailbox for what sessions ask of them from any thread, one flush a
/// connection a tick, and one timer for all their deadlines.
final class LineLoop: OutletHome {
    let eventLoop: any EventLoop

    /// What the tasks of its connections prefer.
    let taskExecutor: LoopTaskExecutor

    private let metrics: LineMetrics

    private let mailbox = Mutex(Mailbox())
    private let local: NIOLoopBound<Local>

    /// What one caller asks of one connection.
    enum Order: Sendable {
        case startPushes(cursor: String)
        case stopPushes
        case fallBehind
        case noteCursor(String)
        case setExpiry(Expiry?)
        case goodbye(Goodbye)
    }

    private enum Letter: Sendable {
        case order(Order, ConnectionOutlet)
        case pushes([SharedPush], written: @Sendable () -> Void)
    }

    private struct Mailbox {
        var letters: [Letter] = []

        /// Whether the loop has been told that there are letters.
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

        /// Letters that are being read; kept so that its memory serves again.
        var reading: [Letter] = []

        /// Those to be told at the next flush that what they pushed is written.
        var writers: [@Sendable () -> Void] = []
    }

    /// - Parameter eventLoop: the event loop on which this is called.
    init(_ eventLoop: any EventLoop, metrics: LineMetrics) {
        self.eventLoop = eventLoop
        self.taskExecutor = LoopTaskExecutor(eventLoop)
        self.metrics = metrics
        self.local = NIOLoopBound(Local(), eventLoop: eventLoop)
    }

    /// Gives a connection an order, from any thread. However many come before the loop gets to them cost it one
    /// wake-up.
    func post(_ order: Order, to outlet: ConnectionOutlet) { self.post(.order(order, outlet)) }

    func push(_ pushes: [SharedPush], written: @escaping @Sendable () -> Void) {
        self.post(.pushes(pushes, written: written))
    }

    private func post(_ letter: Letter) {
        let isFirst = self.mailbox.withLock { mailbox in
            mailbox.letters.append(letter)
            defer { mailbox.isAnnounced = true }
            return !mailbox.isAnnounced
        }
        guard isFirst else { return }
        self.eventLoop.execute {
            self.readMail()
            self.flush()
        }
    }

    /// Does something with every connection of the loop, from any thread.
    func forEach(_ body: @escaping @Sendable (ConnectionHandler) -> Void) {
        self.eventLoop.execute {
            for connection in self.local.value.connections { body(connection) }
            self.flush()
        }
    }

    /// Carries out all orders given so far. This and what follows is only for the loop.
    func readMail() {
        let local = self.local.value
        // An order can lead here again; the letters being read are then in good hands.
        guard local.reading.isEmpty else { return }
        self.mailbox.withLock { mailbox in
            swap(&mailbox.letters, &local.reading)
            mailbox.isAnnounced = false
        }
        guard !local.reading.isEmpty else { return }
        for letter in local.reading {
            switch letter {
            case .order(let order, let outlet): outlet.connection?.carryOut(order)
            case .pushes(let pushes, let written):
                for shared in pushes { self.push(shared) }
                local.writers.append(written)
            }
        }
        let isLarge = local.reading.count > 4_096
        local.reading.removeAll(keepingCapacity: !isLarge)
    }

    private func push(_ shared: SharedPush) {
        for receiver in shared.receivers { (receiver as? ConnectionOutlet)?.connection?.push(shared.push) }
        self.metrics.pushed(shared.receivers.count)
    }

    /// Writes the connection's queue out at the end of this tick, with all that is queued until then.
    func flushLater(_ connection: ConnectionHandler) {
        let local = self.local.value
        local.unflushed.append(connection)
        guard !local.isFlushScheduled else { return }
        local.isFlushScheduled = true
        self.eventLoop.execute { self.flush() }
    }

    private func flush() {
        let local = self.local.value
        local.isFlushScheduled = false
        var connections: [ConnectionHandler] = []
        swap(&connections, &local.unflushed)
        for connection in connections {
            if connection.postponesFlush() {
                local.unflushed.append(connection)
            } else {
                connection.isFlushDue = false
                connection.flush()
            }
        }
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
            self.eventLoop.execute { self.flush() }
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
        local.sweeping = self.eventLoop.scheduleRepeatedTask(initialDelay: delay, delay: delay) { _ in
            let now = NIODeadline.now()
            // A copy, since a connection that is closed by this leaves the list.
            let connections = self.local.value.connections
            for connection in connections { connection.sweep(now) }
            let waiting = self.local.value.connections.reduce(0) { $0 + $1.queue.waitingBytes }
            self.metrics.queueBytesChanged(by: waiting - self.local.value.waitingBytes)
            self.local.value.waitingBytes = waiting
            self.flush()
        }
    }

    func stopSweeping() {
        self.local.value.sweeping?.cancel()
        self.local.value.sweeping = nil
    }
}
