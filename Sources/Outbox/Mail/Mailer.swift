package import Logging
import Messaging
package import Metrics
import ServiceLifecycle

/// Sends the mails of accounts. Every node may: a mail that one has leased is skipped by the others.
package final class Mailer: Service {
    private let settings: MailSettings
    private let queue: MailQueue
    private let logger: Logger
    private let metrics: MailMetrics
    private let written: @Sendable (String) -> Void

    private let deliveries = Deliveries<MailOrder, MailOutcome>(maxInFlight: maxInFlight)

    /// The maximum in flight. Each may occupy a thread for minutes if the mail server is slow.
    static let maxInFlight = 32

    /// The interval of polls for due mails. It is constant: polling at once after a mail would reveal, by the arrival
    /// time of one's own mail, whether another address has an account.
    private static let pause = Duration.milliseconds(500)

    /// - Parameters:
    ///   - queue: the service's queue, which must run as long as this service.
    ///   - written: called with the path of each mail that was written to a folder.
    package init(
        _ settings: MailSettings, queue: MailQueue, logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory, written: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.settings = settings
        self.queue = queue
        self.logger = logger
        self.metrics = MailMetrics(metrics)
        self.written = written
    }

    /// Checks that the transport would accept a mail. Returns nil or the error.
    package static func check(_ settings: MailSettings) async -> String? {
        do {
            return try await settings.withTransport(written: { _ in }) { await $0.check() }
        } catch {
            return "\(error)"
        }
    }

    /// Runs until the service is stopped.
    package func run() async throws {
        try await settings.withTransport(written: written) { transport in
            let (orders, leased) = AsyncStream<MailOrder>.makeStream()
            await withDiscardingTaskGroup { group in
                group.addTask {
                    await cancelWhenGracefulShutdown { await self.runPollLoop(leased) }
                    leased.finish()
                }
                // A mail in flight is completed, whatever happens to this node.
                for await order in orders {
                    group.addTask { await self.deliveries.perform(order) { await self.deliver(order, transport) } }
                }
            }
            try? await self.deliveries.settle(self.queue.settle)
        }
    }

    private func runPollLoop(_ leased: AsyncStream<MailOrder>.Continuation) async {
        var isWarned = false
        while !Task.isCancelled {
            do {
                try await deliveries.settle(queue.settle)
                let room = deliveries.room
                if room > 0 { deliveries.begin(try await queue.leaseDue(limit: room), leased) }
                isWarned = false
            } catch {
                if Task.isCancelled { return }
                if !isWarned {
                    logger.warning("cannot reach the mail queue; retrying", metadata: ["error": "\(error)"])
                }
                isWarned = true
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    private func deliver(_ order: MailOrder, _ transport: any MailTransport) async -> MailOutcome {
        let start = ContinuousClock.now
        let delivery = await transport.deliver(settings.message(order))
        let outcome = delivery.outcome.settled(after: order.attempts)
        metrics.settled(order.kind, outcome, after: .now - start)
        if outcome != .accepted {
            logger.notice(
                "mail not accepted",
                metadata: [
                    "mail": "\(order.id)", "kind": "\(order.kind.rawValue)", "response": "\(delivery.logged)",
                    "outcome": "\(outcome.name)",
                ])
        }
        return outcome
    }
}
