package import DatabaseAccess
import FoundationEssentials
package import Logging
import Outbound
import Postgres
import ServiceLifecycle
import Synchronization

/// A decision about a held message.
package enum HeldMessageDecision: String, Sendable, CaseIterable, Decodable {
    /// A moderator decides.
    case hold

    /// All members see the message.
    case release

    /// The message is deleted.
    case reject
}

/// Asks the operator's webhook about each held message, and applies its decision (`docs/safety.md`).
///
/// Every node asks about messages of which no other has asked.
package final class HeldMessageDecider: Service {
    private let settings: WebhookSettings
    private let fallback: HeldMessageDecision
    private let database: Database
    private let logger: Logger
    private let inFlight = Atomic(0)

    /// The interval of polls for held messages.
    private static let pause = Duration.milliseconds(250)

    /// The time that the webhook has for a decision.
    private static let timeout = Duration.seconds(2)

    /// The most messages about which this node asks at the same time.
    private static let maxInFlight = 32

    /// - Parameters:
    ///   - fallback: the decision if the webhook makes none in time.
    ///   - database: the service's database, which must run as long as this service.
    package init(_ settings: WebhookSettings, fallback: HeldMessageDecision, database: Database, logger: Logger) {
        self.settings = settings
        self.fallback = fallback
        self.database = database
        self.logger = logger
    }

    /// Runs until the service is stopped.
    package func run() async throws {
        try await settings.withWebhook(connections: Self.maxInFlight) { webhook in
            let (messages, claimed) = AsyncStream<HeldMessage>.makeStream()
            await withDiscardingTaskGroup { group in
                group.addTask {
                    await cancelWhenGracefulShutdown { await self.runPollLoop(claimed) }
                    claimed.finish()
                }
                // A question in flight is answered, whatever happens to this node.
                for await message in messages {
                    group.addTask {
                        await self.apply(await self.decision(about: message, webhook), to: message)
                        self.inFlight.subtract(1, ordering: .relaxed)
                    }
                }
            }
        }
    }

    private func runPollLoop(_ claimed: AsyncStream<HeldMessage>.Continuation) async {
        var isWarned = false
        while !Task.isCancelled {
            do {
                let room = Self.maxInFlight - inFlight.load(ordering: .relaxed)
                if room > 0 {
                    for message in try await claim(limit: room) {
                        inFlight.add(1, ordering: .relaxed)
                        claimed.yield(message)
                    }
                }
                isWarned = false
            } catch {
                if Task.isCancelled { return }
                if !isWarned {
                    isWarned = true
                    logger.warning("cannot read held messages; retrying", metadata: ["error": "\(error)"])
                }
            }
            try? await Task.sleep(for: Self.pause)
        }
    }

    /// Returns the webhook's decision, or the configured one if there is no valid response in time.
    private func decision(about message: HeldMessage, _ webhook: SignedWebhook) async -> HeldMessageDecision {
        let reason: String
        do {
            let response = try await webhook.post(Array(message.body.utf8), id: message.id, within: Self.timeout)
            if (200..<300).contains(response.status),
                let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
            {
                return answer.decision
            }
            reason = response.summary
        } catch {
            reason = "\(error)"
        }
        logger.notice(
            "no decision of the webhook about a held message",
            metadata: ["message": "\(message.id)", "response": "\(reason)", "decision": "\(fallback)"])
        return fallback
    }

    private struct Answer: Decodable {
        let decision: HeldMessageDecision
    }

    private func apply(_ decision: HeldMessageDecision, to message: HeldMessage) async {
        do {
            _ = try await database.rows(Self.applyStatement, [message.id, decision.rawValue], as: .feed)
        } catch {
            // The message is due again within a minute.
            logger.warning(
                "cannot apply the decision about a held message",
                metadata: ["message": "\(message.id)", "error": "\(error)"])
        }
    }

    private func claim(limit: Int) async throws -> [HeldMessage] {
        let rows = try await database.rows(Self.claimStatement, ["\(limit)"], as: .feed)
        return (0..<rows.count).compactMap { row in
            guard let id = rows.text(row, 0), let body = rows.text(row, 1) else { return nil }
            return HeldMessage(id: id, body: body)
        }
    }

    private static let claimStatement = Statement("app.claim_held", "select id, body from app.claim_held($1::int)")
    private static let applyStatement = Statement(
        "app.apply_held_decision", "select app.apply_held_decision($1::uuid, $2)")
}

/// A message about which the webhook is to be asked.
private struct HeldMessage: Sendable {
    let id: String

    /// The body of the request.
    let body: String
}
