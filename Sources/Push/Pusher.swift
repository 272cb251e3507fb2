internal import AsyncHTTPClient
public import Logging
public import Messaging
public import Metrics
internal import Postgres
public import ServiceLifecycle
internal import Synchronization
internal import Webhooks

/// Tells devices whose users have no app open of their messages: one node of all does it.
public final class Pusher: Service {
    private let settings: PushSettings
    private let databaseURL: String
    private let limits: StatementLimits
    private let logger: Logger
    private let metrics: PushMetrics

    /// The identity under which this node holds the lease.
    private let node = ID.random()

    /// How often the leader renews its lease, which is four times as long.
    private static let renewal = Duration.seconds(1)

    /// What became of orders and is not noted yet. It outlives the connection over which they were given.
    private let outcomes = Mutex<[(order: PushOrder, outcome: PushOutcome)]>([])

    /// How many orders providers have.
    private let underWay = Atomic(0)

    /// How many they have at most.
    private static let maxUnderWay = 400

    /// How many of them at a time over connections that carry one each (HTTP/1.1), by host: a webhook that takes 50 ms is
    /// told of more than a thousand a second by so many.
    private static let connections = 64

    /// - Parameter databaseURL: a way to the database on which a session keeps its backend.
    public init(
        _ settings: PushSettings, databaseURL: String, limits: StatementLimits, logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.settings = settings
        self.databaseURL = databaseURL
        self.limits = limits
        self.logger = logger
        self.metrics = PushMetrics(metrics)
    }

    /// Runs until the service is stopped.
    public func run() async throws {
        let client = try HTTPClient.toProviders(trusting: settings.authorities, connections: Self.connections)
        let providers = Self.providers(settings, client)
        let (orders, order) = AsyncStream<PushOrder>.makeStream()
        await withDiscardingTaskGroup { group in
            group.addTask {
                await cancelWhenGracefulShutdown { await self.keepServing(order) }
                order.finish()
            }
            // What a provider has been given is answered, whatever becomes of the connection, and of this node.
            for await order in orders { group.addTask { await self.deliver(order, providers) } }
        }
        try? await PushQueue.with(databaseURL, limits: limits, logger: logger) { queue in
            try await self.settle(queue)
            try await queue.resign(as: self.node)
        }
        try await client.shutdown()
    }

    private func keepServing(_ order: AsyncStream<PushOrder>.Continuation) async {
        var backoff = Backoff(base: .milliseconds(250), limit: .seconds(2))
        while !Task.isCancelled {
            do {
                try await PushQueue.with(databaseURL, limits: limits, logger: logger) { queue in
                    try await serve(queue, order) { backoff.reset() }
                }
            } catch {
                metrics.leads(false)
                if Task.isCancelled { break }
                if backoff.attempts == 0 {
                    logger.warning("pushes wait for the database", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Asks each provider whether it would take a push; of each that would not, what is wrong.
    public static func check(_ settings: PushSettings) async throws -> [(platform: DevicePlatform, flaw: String?)] {
        let client = try HTTPClient.toProviders(trusting: settings.authorities, connections: connections)
        var found: [(platform: DevicePlatform, flaw: String?)] = []
        for (platform, provider) in providers(settings, client).sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            found.append((platform, await provider.check()))
        }
        try await client.shutdown()
        return found
    }

    private static func providers(
        _ settings: PushSettings, _ client: HTTPClient
    ) -> [DevicePlatform: any PushProvider] {
        var providers: [DevicePlatform: any PushProvider] = [:]
        if let apns = settings.apns { providers[.apns] = APNs(apns, client: client) }
        if let fcm = settings.fcm { providers[.fcm] = FCM(fcm, client: client) }
        if let webhook = settings.webhook { providers[.webhook] = Webhook(settings: webhook, client: client) }
        return providers
    }

    /// Waits until this node leads, and leads until another does or the connection is lost.
    private func serve(
        _ queue: PushQueue, _ order: AsyncStream<PushOrder>.Continuation, _ connected: () -> Void
    ) async throws {
        var leads = try await queue.lead(as: node)
        connected()
        while !leads {
            // What was given as the leader, and was answered since.
            try await settle(queue)
            try await Task.sleep(for: .milliseconds(500))
            leads = try await queue.lead(as: node)
        }
        var nextRenewal = ContinuousClock.now + Self.renewal
        // The first of all looks only notes from where on is told.
        _ = try await queue.note()
        metrics.leads(true)
        defer { metrics.leads(false) }
        logger.info("this node pushes")
        var nextLook = ContinuousClock.now
        while true {
            if nextRenewal <= .now {
                nextRenewal = .now + Self.renewal
                guard try await queue.lead(as: node) else { return }
            }
            try await settle(queue)
            if nextLook <= .now {
                _ = try await queue.note()
                nextLook = .now + .milliseconds(500)
            }
            let room = Self.maxUnderWay - underWay.load(ordering: .relaxed)
            if room > 0 {
                let (orders, late) = try await queue.due(most: room, withText: settings.hasPreviews)
                metrics.gaveUp(late)
                underWay.add(orders.count, ordering: .relaxed)
                for given in orders { order.yield(given) }
            }
            let isBusy = underWay.load(ordering: .relaxed) > 0
            try await Task.sleep(for: .milliseconds(isBusy ? 50 : 250))
        }
    }

    private func settle(_ queue: PushQueue) async throws {
        let settled = outcomes.withLock { $0 }
        guard !settled.isEmpty else { return }
        try await queue.settle(settled)
        // In their order, and what came meanwhile is behind them.
        outcomes.withLock { $0.removeFirst(settled.count) }
    }

    private func deliver(_ order: PushOrder, _ providers: [DevicePlatform: any PushProvider]) async {
        defer { underWay.subtract(1, ordering: .relaxed) }
        let start = ContinuousClock.now
        let outcome: PushOutcome
        if let provider = providers[order.device.platform] {
            outcome = await provider.deliver(Push(order: order, text: settings.texts.text(of: order)))
        } else {
            // Another node may have it.
            outcome = .later("this node does not push by it", after: .seconds(60))
        }
        metrics.settled(order.device.platform, outcome, after: .now - start)
        switch outcome {
        case .refused(let why), .later(let why, _):
            logger.notice(
                "a push was not taken",
                metadata: [
                    "provider": "\(order.device.platform.rawValue)", "device": "\(order.device.id)", "answer": "\(why)",
                ])
        case .taken, .unregistered: break
        }
        outcomes.withLock { $0.append((order, outcome)) }
    }
}
