import DatabaseAccess
import Foundations
import Logging
import Postgres
import Synchronization

/// Sends and receives `NOTIFY`, by which nodes and other programs announce changes, and nodes announce typing.
///
/// It has two connections to the primary: one sends, one listens. The feed's sweep finds changes whose notification is
/// lost with a connection. Typing may be lost.
actor ChangeNotifier {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private let settings: Feed.Settings
    private nonisolated let reactor: Reactor
    private let logger: Logger
    private let metrics: FeedMetrics

    /// The payload of this node's notifications, by which it ignores its own.
    private let node = ID.random().description
    private let wakeUps: WakeSignal

    /// True if the other nodes' feeds must be notified of a change.
    private nonisolated let hasPendingNotify = Atomic(false)
    private var typingEnvelope: TypingEnvelope

    /// Typing notices that wait to be sent to the other nodes. Notices beyond ``maxPendingTyping`` are dropped.
    private var pendingTyping: [TypingNotice] = []
    private static let maxPendingTyping = 10_000

    init(
        settings: Feed.Settings, typingSecret: String, reactor: Reactor, logger: Logger, metrics: FeedMetrics
    ) {
        self.settings = settings
        self.reactor = reactor
        self.logger = logger
        self.metrics = metrics
        typingEnvelope = TypingEnvelope(secret: typingSecret)
        wakeUps = WakeSignal(on: reactor)
    }

    /// Records that the other nodes must be notified. ``wakeIfPending()`` sends the notification.
    nonisolated func markPending() { hasPendingNotify.store(true, ordering: .sequentiallyConsistent) }

    /// Wakes the notify loop if a notification is pending.
    nonisolated func wakeIfPending() {
        if hasPendingNotify.load(ordering: .sequentiallyConsistent) { wakeUps.signal() }
    }

    /// Queues a typing notice for the other nodes.
    func send(_ notice: TypingNotice) {
        if pendingTyping.count < Self.maxPendingTyping { pendingTyping.append(notice) }
        wakeUps.signal()
    }

    /// Requests a check of how full the notification queue is, if a check is due.
    func measure() {
        if metrics.beginQueueCheck() {
            isQueueCheckPending = true
            wakeUps.signal()
        }
    }

    private var isQueueCheckPending = false

    /// Runs until it is cancelled.
    ///
    /// - Parameters:
    ///   - changed: called when another node or program notified of a change, or may have done so while this node was
    ///     not listening.
    ///   - typing: called with each typing notice of another node. Both are called on the reactor's thread.
    func run(
        changed: @escaping @Sendable () -> Void, typing: @escaping @Sendable (TypingNotice) -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runNotifyLoop() }
            group.addTask { await self.runListenLoop(changed, typing) }
        }
    }

    /// Sends one notification at a time: all commits in the meantime share the next.
    private func runNotifyLoop() async {
        var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
        while !Task.isCancelled {
            do {
                try await Connection.with(settings.url, on: reactor, options: .logging(to: logger)) { connection in
                    backoff.reset()
                    var next = ContinuousClock.now
                    while true {
                        try await wakeUps.next(notBefore: next)
                        next = .now + settings.pace
                        if hasPendingNotify.exchange(false, ordering: .acquiring) {
                            _ = try await connection.run(
                                [Call(Self.notify, [Self.changeChannel, node])], deadline: settings.limits.deadline)
                        }
                        try await sendTyping(over: connection)
                        if isQueueCheckPending {
                            isQueueCheckPending = false
                            metrics.setQueueUsage(
                                try await connection.run([Call(Self.queue)], deadline: settings.limits.deadline)[0]
                                    .text(0, 0))
                        }
                    }
                }
            } catch {
                // The other nodes' sweeps find changes that were not announced.
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    private func sendTyping(over connection: Connection) async throws {
        while !pendingTyping.isEmpty {
            let payload = try typingEnvelope.seal(pendingTyping.prefix(TypingEnvelope.capacity))
            pendingTyping.removeFirst(min(pendingTyping.count, TypingEnvelope.capacity))
            _ = try await connection.run(
                [Call(Self.notify, [Self.typingChannel, payload])], deadline: settings.limits.deadline)
        }
    }

    private func runListenLoop(
        _ changed: @escaping @Sendable () -> Void, _ typing: @escaping @Sendable (TypingNotice) -> Void
    ) async {
        let listener = Listener(
            url: settings.url, channels: [Self.changeChannel, Self.typingChannel], options: .logging(to: logger),
            on: reactor)
        await listener.run { [node, self] event in
            switch event {
            case .notified(Self.typingChannel, _, let payload):
                assumeIsolated { $0.typingEnvelope.open(payload).forEach(typing) }
            case .notified(_, _, let payload) where payload == node: break
            case .listening, .notified: changed()
            case .lost: break
            }
        }
    }

    private static let notify = Statement("notify", "select pg_notify($1, $2)")
    private static let queue = Statement("feed.queue", "select pg_notification_queue_usage()")
    private static let changeChannel = "postline"
    private static let typingChannel = "postline_typing"
}
