import NIOCore
import NIOPosix
import Synchronization

/// Returns a free port on which a node can be restarted, or that stays unused.
///
/// A port of the system's choice may be given to another process once it is free. This one is below those ranges
/// (Linux: 32768, macOS: 49152), so that nothing else takes it meanwhile.
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
