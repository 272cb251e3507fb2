import LineServer
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import Gateway

@Suite("Clients of HTTP that do not read their answers", .timeLimit(.minutes(10)))
struct HTTPBackPressureTests {
    // A9
    @Test("past the bound over all connections those whose answers have waited for longest are closed")
    func unreadAnswers() async throws {
        var configuration = HTTPServer.Configuration()
        configuration.bounds.maxUnwrittenBytes = 3 * LargeAnswers.bytes
        let server = HTTPServer(configuration: configuration, sharing: nil) { _ in LargeAnswers() }
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
            #expect(received[0] < LargeAnswers.bytes)
            for count in received.dropFirst() { #expect(count > LargeAnswers.bytes) }
            // The answers of the closed and the served are not counted any more.
            for _ in 0..<4 {
                let client = try await SlowReader(port: port)
                #expect(try await client.readToEnd() > LargeAnswers.bytes)
            }
            group.cancelAll()
            try? await group.waitForAll()
        }
    }
}

/// Answers each request with more than the kernel holds for a connection.
private struct LargeAnswers: HTTPRequestHandler {
    static let bytes = 1 << 25
    private static let body = ByteBuffer(repeating: 0x61, count: bytes)

    func respond(to request: HTTPRequest) async -> HTTPResponse { HTTPResponse(.ok, body: Self.body) }

    func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse {
        HTTPResponse(error.status, text: error.message)
    }

    func close() async {}
}

/// A client that asks once, and reads no more than the first bytes of the answer until it is told to.
private struct SlowReader {
    private let channel: any Channel

    /// Succeeds with the first bytes of the answer.
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

    /// Reads all that comes, and returns the number of its bytes.
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

        // A connection that was cut off may end with a reset.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
