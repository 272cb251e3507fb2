internal import Messaging
internal import ServiceLifecycle
internal import Synchronization

/// How far a node is between its start and its end, and so whether clients are to be sent to it.
final class NodeStage: Service {
    private enum Stage {
        case waiting(String)
        case serving
        case stopping
    }

    private let stage = Mutex(Stage.waiting("The node is starting."))

    /// The node waits for something before it serves.
    func waits(_ why: String) { stage.withLock { $0 = .waiting(why) } }

    /// The node serves until it is told to stop.
    ///
    /// As a service of the node's group it is the first to be told.
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
