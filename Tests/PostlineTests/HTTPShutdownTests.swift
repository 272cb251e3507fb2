import NIOCore
import NIOPosix
import Testing

@testable import HTTPServing

@Suite("HTTP shutdown", .timeLimit(.minutes(10)))
struct HTTPShutdownTests {
    @Test("cancels the requests of clients that have disconnected, before and after")
    func abandonedRequests() async throws {
        let channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let connections = HTTPConnections(HTTPBounds())
        let (never, continuation) = AsyncStream.makeStream(of: Never.self)
        let requests = (0..<3).map { _ in Task { for await _ in never {} } }
        for request in requests.prefix(2) { connections.connectionClosed(channel, during: request) }
        connections.connectionOpened(channel)
        connections.connectionFinished(after: requests[0])
        #expect(!requests.contains { $0.isCancelled })
        connections.closeAll()
        connections.connectionClosed(channel, during: requests[2])
        #expect(requests.map(\.isCancelled) == [false, true, true])
        continuation.finish()
        try await channel.closeFuture.get()
    }
}
