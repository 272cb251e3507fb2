import AsyncHTTPClient
package import DatabaseAccess
import Foundations
package import Logging
package import Messaging
package import Metrics
import Outbound
import ServiceLifecycle

/// Sends device pushes to users who are offline. One node, the leader, does it for all.
package final class Pusher: Service {
    private let settings: PushSettings
    private let databaseURL: String
    private let limits: StatementLimits
    private let logger: Logger
    private let metrics: PushMetrics

    /// The identity of this node as a leaseholder.
    private let node = ID.random()

    /// The interval at which the leader renews its lease, which lasts four times as long.
    private static let renewal = Duration.seconds(1)

    private let deliveries = Deliveries<PushOrder, PushOutcome>(maxInFlight: 400)

    /// The maximum number of HTTP/1.1 connections per host, each with one request: with 50 ms per request, a webhook
    /// receives over a thousand per second.
    private static let connections = 64

    /// - Parameter databaseURL: a connection string by which a session keeps its backend.
    package init(
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
    package func run() async throws {
        let client = try HTTPClient.forProviders(trusting: settings.authorities, connections: Self.connections)
        let providers = Self.providers(settings, client)
        let (orders, leased) = AsyncStream<PushOrder>.makeStream()
        await withDiscardingTaskGroup { group in
            group.addTask {
                await cancelWhenGracefulShutdown { await self.runServeLoop(leased) }
                leased.finish()
            }
            // A push in flight is completed, whatever happens to the connection or this node.
            for await order in orders {
                group.addTask { await self.deliveries.perform(order) { await self.deliver(order, providers) } }
            }
        }
        try? await PushQueue.with(databaseURL, limits: limits, logger: logger) { queue in
            try await self.deliveries.settle(queue.settle)
            try await queue.releaseLease(as: self.node)
        }
        try await client.shutdown()
    }

    private func runServeLoop(_ leased: AsyncStream<PushOrder>.Continuation) async {
        var backoff = Backoff(base: .milliseconds(250), limit: .seconds(2))
        while !Task.isCancelled {
            do {
                try await PushQueue.with(databaseURL, limits: limits, logger: logger) { queue in
                    try await serve(queue, leased) { backoff.reset() }
                }
            } catch {
                metrics.leads(false)
                if Task.isCancelled { break }
                if backoff.attempts == 0 {
                    logger.warning("the push queue failed; retrying", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Checks that each provider would accept a push, and returns each one's error or nil.
    package static func check(_ settings: PushSettings) async throws -> [(platform: DevicePlatform, flaw: String?)] {
        let client = try HTTPClient.forProviders(trusting: settings.authorities, connections: connections)
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
        if let apns = settings.apns { providers[.apns] = APNsProvider(apns, client: client) }
        if let fcm = settings.fcm { providers[.fcm] = FCMProvider(fcm, client: client) }
        if let webhook = settings.webhook { providers[.webhook] = WebhookProvider(settings: webhook, client: client) }
        return providers
    }

    /// Waits until this node leads, and leads until another node does or the connection is lost.
    private func serve(
        _ queue: PushQueue, _ leased: AsyncStream<PushOrder>.Continuation, _ connected: () -> Void
    ) async throws {
        var leads = try await queue.acquireLease(as: node)
        connected()
        while !leads {
            // Outcomes of pushes that this node sent as the leader.
            try await deliveries.settle(queue.settle)
            try await Task.sleep(for: .milliseconds(500))
            leads = try await queue.acquireLease(as: node)
        }
        var nextRenewal = ContinuousClock.now + Self.renewal
        // The first poll only records the starting point.
        _ = try await queue.enqueueNew()
        metrics.leads(true)
        defer { metrics.leads(false) }
        logger.info("this node sends device pushes")
        var nextPoll = ContinuousClock.now
        while true {
            if nextRenewal <= .now {
                nextRenewal = .now + Self.renewal
                guard try await queue.acquireLease(as: node) else { return }
            }
            try await deliveries.settle(queue.settle)
            if nextPoll <= .now {
                // After a poll that queued pushes, more may wait.
                let queued = try await queue.enqueueNew()
                nextPoll = .now + .milliseconds(queued > 0 ? 50 : 500)
            }
            let room = deliveries.room
            if room > 0 {
                let (orders, abandoned) = try await queue.leaseDue(limit: room, withText: settings.hasPreviews)
                metrics.recordAbandoned(abandoned)
                deliveries.begin(orders, leased)
            }
            try await Task.sleep(for: .milliseconds(deliveries.isBusy ? 50 : 250))
        }
    }

    private func deliver(_ order: PushOrder, _ providers: [DevicePlatform: any PushProvider]) async -> PushOutcome {
        let start = ContinuousClock.now
        let outcome: PushOutcome
        if let provider = providers[order.device.platform] {
            outcome = await provider.deliver(DevicePush(order: order, text: settings.texts.text(of: order)))
        } else {
            // Another node may have this provider.
            outcome = .deferred("this node has no credentials for the provider", after: .seconds(60))
        }
        metrics.settled(order.device.platform, outcome, after: .now - start)
        switch outcome {
        case .rejected(let why), .deferred(let why, _):
            logger.notice(
                "push not accepted",
                metadata: [
                    "provider": "\(order.device.platform.rawValue)", "device": "\(order.device.id)",
                    "response": "\(why)",
                ])
        case .accepted, .unregistered: break
        }
        return outcome
    }
}
