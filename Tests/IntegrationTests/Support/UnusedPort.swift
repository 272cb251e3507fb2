import NIOCore
import NIOPosix
import Synchronization

/// A port at which a test's node can be started again, or is known to be gone.
///
/// A port that the system chose goes to the next who asks for one as soon as it is free. This one lies below those that
/// systems choose from (Linux: 32768, macOS: 49152), so that no other test or connection takes it meanwhile.
func unusedPort() async throws -> Int {
    while true {
        let port = Int.random(in: 10_000..<32_768)
        guard assignedPorts.withLock({ $0.insert(port).inserted }) else { continue }
        let probe = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        guard let listener = try? await probe.bind(host: "127.0.0.1", port: port).get() else { continue }
        try await listener.close()
        return port
    }
}

private let assignedPorts = Mutex<Set<Int>>([])
