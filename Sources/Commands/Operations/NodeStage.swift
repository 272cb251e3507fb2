import Messaging
import Outbox
import ServiceLifecycle
import Synchronization

/// The stage of a node between start and stop, which decides whether it is ready for clients.
final class NodeStage: Service {
    private enum Stage {
        case waiting(String)
        case serving
        case stopping
    }

    private let stage = Mutex(Stage.waiting("The node is starting."))

    /// Records that the node waits, with the reason.
    func waits(_ why: String) { stage.withLock { $0 = .waiting(why) } }

    /// It is the last service of the node's group, and so the first to be notified.
    func run() async throws {
        stage.withLock { $0 = .serving }
        try await gracefulShutdown()
        stage.withLock { $0 = .stopping }
    }

    func readiness(of service: MessagingService) async -> Readiness {
        switch stage.withLock({ $0 }) {
        case .waiting(let why): .notReady(why)
        case .serving: await service.readiness()
        case .stopping: .notReady("The node is stopping.")
        }
    }
}
