import HTTPServing
import LineServer
import Testing

/// Runs a server whose connections share a handler, and calls a body with its port. Then it cuts the connections.
func withHTTPServer(
    _ configuration: HTTPServer.Configuration = HTTPServer.Configuration(), of handler: any HTTPRequestHandler,
    isBusy: @escaping @Sendable () -> Bool = { false }, _ body: (Int) async throws -> Void
) async throws {
    let server = HTTPServer(configuration: configuration, sharing: nil, isBusy: isBusy) { _ in handler }
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    try await withThrowingTaskGroup { group in
        group.addTask { try await server.run { continuation.yield($0.port) } }
        var listening = ports.makeAsyncIterator()
        try await body(try #require(await listening.next()))
        group.cancelAll()
        try? await group.waitForAll()
    }
}
