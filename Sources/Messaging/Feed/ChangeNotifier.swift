internal import Logging
internal import Postgres
internal import Synchronization

/// How the nodes of a service, and other programs, tell each other over NOTIFY that something changed, and who types.
///
/// It has two connections to the primary: one that rings, one that listens. What is lost with one of them is found by
/// the feed's sweep; typing is lost without harm.
actor ChangeNotifier {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private let settings: Feed.Settings
    private nonisolated let reactor: Reactor
    private let logger: Logger
    private let metrics: FeedMetrics

    /// What this node rings with, so that it does not answer its own bell.
    private let node = ID.random().description
    private let wakeUps: WakeSignal

    /// Whether the other nodes are to look, or are only to be told who types.
    private nonisolated let hasPendingNotify = Atomic(false)
    private var typingEnvelope: TypingEnvelope

    /// Who types, on the way to the other nodes. What is too much is dropped.
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

    /// Something changed: it is changed when ``wakeIfPending()`` is called.
    nonisolated func markPending() { hasPendingNotify.store(true, ordering: .sequentiallyConsistent) }

    /// Rings, where that is due.
    nonisolated func wakeIfPending() {
        if hasPendingNotify.load(ordering: .sequentiallyConsistent) { wakeUps.signal() }
    }

    /// Tells the other nodes who types.
    func send(_ notice: TypingNotice) {
        if pendingTyping.count < Self.maxPendingTyping { pendingTyping.append(notice) }
        wakeUps.signal()
    }

    /// Has the fill of the notification queue asked for, where that is due.
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
    ///   - changed: somebody else rang, or may have while nobody listened.
    ///   - typing: users of other nodes who type. Both are called on the reactor's thread.
    func run(
        changed: @escaping @Sendable () -> Void, typing: @escaping @Sendable (TypingNotice) -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runNotifyLoop() }
            group.addTask { await self.runListenLoop(changed, typing) }
        }
    }

    /// One ring is in flight at a time: all that commits meanwhile shares the next.
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
                // The other nodes' sweeps find what this bell did not announce.
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
            case .notified(Self.typingChannel, _, let payload): assumeIsolated { $0.open(payload).forEach(typing) }
            case .notified(_, _, let payload) where payload == node: break
            case .listening, .notified: changed()
            case .lost: break
            }
        }
    }

    private func open(_ payload: String) -> [TypingNotice] { typingEnvelope.open(payload) }

    private static let notify = Statement("notify", "select pg_notify($1, $2)")
    private static let queue = Statement("feed.queue", "select pg_notification_queue_usage()")
    private static let changeChannel = "postline"
    private static let typingChannel = "postline_typing"
}
