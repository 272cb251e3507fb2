internal import Logging
internal import Postgres
internal import Synchronization

/// How the nodes of a service, and other programs, tell each other over NOTIFY that something changed, and who types.
///
/// It has two connections to the primary: one that rings, one that listens. What is lost with one of them is found by
/// the feed's sweep; typing is lost without harm.
actor Doorbell {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private let settings: Feed.Settings
    private nonisolated let reactor: Reactor
    private let logger: Logger
    private let metrics: FeedMetrics

    /// What this node rings with, so that it does not answer its own bell.
    private let node = ID.random().description
    private let bells: WakeSignal

    /// Whether the other nodes are to look, or are only to be told who types.
    private nonisolated let isRingDue = Atomic(false)
    private var typingEnvelope: TypingEnvelope

    /// Who types, on the way to the other nodes. What is too much is dropped.
    private var untoldTyping: [TypingNotice] = []
    private static let maxUntoldTyping = 10_000

    init(
        settings: Feed.Settings, typingSecret: String, reactor: Reactor, logger: Logger, metrics: FeedMetrics
    ) {
        self.settings = settings
        self.reactor = reactor
        self.logger = logger
        self.metrics = metrics
        typingEnvelope = TypingEnvelope(secret: typingSecret)
        bells = WakeSignal(on: reactor)
    }

    /// Something changed: it is rung when ``ring()`` is called.
    nonisolated func isDue() { isRingDue.store(true, ordering: .sequentiallyConsistent) }

    /// Rings, where that is due.
    nonisolated func ring() {
        if isRingDue.load(ordering: .sequentiallyConsistent) { bells.signal() }
    }

    /// Tells the other nodes who types.
    func tell(_ notice: TypingNotice) {
        if untoldTyping.count < Self.maxUntoldTyping { untoldTyping.append(notice) }
        bells.signal()
    }

    /// Has the fill of the notification queue asked for, where that is due.
    func measure() {
        if metrics.isQueueDue {
            isQueueDue = true
            bells.signal()
        }
    }

    private var isQueueDue = false

    /// Runs until it is cancelled.
    ///
    /// - Parameters:
    ///   - rung: somebody else rang, or may have while nobody listened.
    ///   - heard: users of other nodes who type. Both are called on the reactor's thread.
    func run(
        rung: @escaping @Sendable () -> Void, heard: @escaping @Sendable (TypingNotice) -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepRinging() }
            group.addTask { await self.keepListening(rung, heard) }
        }
    }

    /// One ring is in flight at a time: all that commits meanwhile shares the next.
    private func keepRinging() async {
        var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
        while !Task.isCancelled {
            do {
                try await Connection.with(settings.url, on: reactor, options: .logging(to: logger)) { connection in
                    backoff.reset()
                    var next = ContinuousClock.now
                    while true {
                        try await bells.next(notBefore: next)
                        next = .now + settings.pace
                        if isRingDue.exchange(false, ordering: .acquiring) {
                            _ = try await connection.run(
                                [Call(Self.notify, [Self.bell, node])], deadline: settings.limits.deadline)
                        }
                        try await tellOthers(over: connection)
                        if isQueueDue {
                            isQueueDue = false
                            metrics.queueIsFull(
                                to: try await connection.run([Call(Self.queue)], deadline: settings.limits.deadline)[0]
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

    private func tellOthers(over connection: Connection) async throws {
        while !untoldTyping.isEmpty {
            let payload = try typingEnvelope.seal(untoldTyping.prefix(TypingEnvelope.capacity))
            untoldTyping.removeFirst(min(untoldTyping.count, TypingEnvelope.capacity))
            _ = try await connection.run(
                [Call(Self.notify, [Self.typists, payload])], deadline: settings.limits.deadline)
        }
    }

    private func keepListening(
        _ rung: @escaping @Sendable () -> Void, _ heard: @escaping @Sendable (TypingNotice) -> Void
    ) async {
        let listener = Listener(
            url: settings.url, channels: [Self.bell, Self.typists], options: .logging(to: logger), on: reactor)
        await listener.run { [node, self] event in
            switch event {
            case .notified(Self.typists, _, let payload): assumeIsolated { $0.open(payload).forEach(heard) }
            case .notified(_, _, let payload) where payload == node: break
            case .listening, .notified: rung()
            case .lost: break
            }
        }
    }

    private func open(_ payload: String) -> [TypingNotice] { typingEnvelope.open(payload) }

    private static let notify = Statement("notify", "select pg_notify($1, $2)")
    private static let queue = Statement("feed.queue", "select pg_notification_queue_usage()")
    private static let bell = "postline"
    private static let typists = "postline_typing"
}
