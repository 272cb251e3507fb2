import LineServer
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import Gateway

@Suite("HTTP backpressure", .timeLimit(.minutes(10)))
struct HTTPBackPressureTests {
    // A9
    @Test("closes the connections with the oldest unread responses beyond the limit")
    func unreadResponses() async throws {
        var configuration = HTTPServer.Configuration()
        configuration.bounds.maxUnwrittenBytes = 3 * LargeResponses.bytes
        let server = HTTPServer(configuration: configuration, sharing: nil) { _ in LargeResponses() }
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        try await withThrowingTaskGroup { group in
            group.addTask { try await server.run { continuation.yield($0.port) } }
            var listening = ports.makeAsyncIterator()
            let port = try #require(await listening.next())
            var clients: [SlowReader] = []
            for _ in 0..<4 {
                let client = try await SlowReader(port: port)
                try await client.begun.get()
                clients.append(client)
            }
            var received: [Int] = []
            for client in clients { received.append(try await client.readToEnd()) }
            #expect(received[0] < LargeResponses.bytes)
            for count in received.dropFirst() { #expect(count > LargeResponses.bytes) }
            // The responses of closed and completed connections are no longer counted.
            for _ in 0..<4 {
                let client = try await SlowReader(port: port)
                #expect(try await client.readToEnd() > LargeResponses.bytes)
            }
            group.cancelAll()
            try? await group.waitForAll()
        }
    }
}

/// A handler whose responses exceed the kernel's buffers for a connection.
private struct LargeResponses: HTTPRequestHandler {
    static let bytes = 1 << 25
    private static let body = ByteBuffer(repeating: 0x61, count: bytes)

    func respond(to request: HTTPRequest) async -> HTTPResponse { HTTPResponse(.ok, body: Self.body) }

    func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse {
        HTTPResponse(error.status, text: error.message)
    }

    func close() async {}
}

/// A client that sends a request, and reads only the first bytes of the response until `readToEnd()`.
private struct SlowReader {
    private let channel: any Channel

    /// Succeeds when the first bytes of the response arrive.
    let begun: EventLoopFuture<Void>
    private let end: EventLoopFuture<Int>

    init(port: Int) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let (begun, end) = (loop.makePromise(of: Void.self), loop.makePromise(of: Int.self))
        self.begun = begun.futureResult
        self.end = end.futureResult
        channel = try await ClientBootstrap(group: loop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Counter(begun: begun, end: end))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(
            ByteBuffer(string: "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        channel.read()
    }

    /// Reads the rest of the response, and returns its number of bytes.
    func readToEnd() async throws -> Int {
        try await channel.setOption(.autoRead, value: true).get()
        return try await end.get()
    }

    private final class Counter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let begun: EventLoopPromise<Void>
        private let end: EventLoopPromise<Int>
        private var bytes = 0

        init(begun: EventLoopPromise<Void>, end: EventLoopPromise<Int>) {
            (self.begun, self.end) = (begun, end)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += Self.unwrapInboundIn(data).readableBytes
            begun.succeed()
        }

        func channelInactive(context: ChannelHandlerContext) {
            begun.succeed()
            end.succeed(bytes)
        }

        // A connection that the server closes may end with a reset.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
