import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import HTTPServing

@Suite("HTTP requests of clients that have gone", .timeLimit(.minutes(10)))
struct GoneClientTests {
    @Test("end their wait for the limits, and are not handled")
    func waitingRequest() async throws {
        let (events, event) = AsyncStream.makeStream(of: String.self)
        try await withHTTPServer(of: WaitingHandler(event: event)) { port in
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(host: "127.0.0.1", port: port).get()
            try await channel.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
            var happened = events.makeAsyncIterator()
            #expect(await happened.next() == "waits")
            try await channel.close()
            #expect(await happened.next() == "cancelled")
            #expect(await happened.next() == "closed")
        }
    }

    @Test("are cancelled when the server cuts its connections, before and after")
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

/// A handler of a server whose clients all exceed their limits.
private struct WaitingHandler: HTTPRequestHandler {
    let event: AsyncStream<String>.Continuation

    func admit(_ head: HTTPRequestHead, bytes: Int, from peerAddress: String, canWait: Bool) async -> HTTPResponse? {
        event.yield("waits")
        let (never, _) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}
        event.yield(Task.isCancelled ? "cancelled" : "not cancelled")
        return nil
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        event.yield("handled")
        return HTTPResponse(.ok)
    }

    func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse { HTTPResponse(error.status) }

    func close() async { event.yield("closed") }
}
