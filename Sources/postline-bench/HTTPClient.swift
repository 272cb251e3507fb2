import Concurrency
import LineClient
import NIOCore
import NIOPosix
import Postgres

/// A kept HTTP connection that calls methods one after another, with a bearer token.
actor HTTPClient: BenchClient {
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // This actor holds the executor.
        unsafe executor.asUnownedSerialExecutor()
    }

    nonisolated let executor: LoopExecutor

    private nonisolated let channel: any Channel

    /// The part of a request's head between its path and its length.
    private let fields: String
    private var answers = HTTPResponseReader()
    private var caller: CheckedContinuation<Result<HTTPResponseReader.Answer, any Error>, Never>?
    private var isClosed = false

    static func connect(
        port: Int, accessToken: String, group: MultiThreadedEventLoopGroup, acceptsGzip: Bool = false
    ) async throws -> HTTPClient {
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port).get()
        let client = HTTPClient(channel, accessToken: accessToken, acceptsGzip: acceptsGzip)
        try await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.addHandler(Handler(client))
        }.get()
        return client
    }

    private init(_ channel: any Channel, accessToken: String, acceptsGzip: Bool) {
        self.channel = channel
        executor = LoopExecutor(channel.eventLoop)
        fields =
            " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(accessToken)\r\n"
            + (acceptsGzip ? "Accept-Encoding: gzip\r\n" : "") + "Content-Type: application/json\r\nContent-Length: "
    }

    /// - Throws: `BenchError` if the status is not 200.
    func answer(to method: String, _ params: ByteBuffer) async throws -> ByteBuffer {
        let answer: Result<HTTPResponseReader.Answer, any Error> = await withSuspension { caller in
            if isClosed { return .resume(.failure(ChannelError.eof)) }
            self.caller = caller
            var request = channel.allocator.buffer(capacity: 128 + fields.utf8.count + params.readableBytes)
            request.writeStaticString("POST /v1/")
            request.writeString(method)
            request.writeString(fields)
            request.writeString(String(params.readableBytes))
            request.writeStaticString("\r\n\r\n")
            request.writeImmutableBuffer(params)
            channel.writeAndFlush(request, promise: nil)
            return .suspend
        }
        let given = try answer.get()
        guard given.status == 200 else {
            throw BenchError("\(method) was answered with \(given.status): \(String(buffer: given.body))")
        }
        return given.body
    }

    func close() async { try? await channel.close().get() }

    private func received(_ piece: ByteBuffer) {
        answers.append(piece)
        do {
            if let answer = try answers.next() { resume(.success(answer)) }
        } catch {
            resume(.failure(error))
        }
    }

    private func connectionClosed() {
        isClosed = true
        resume(.failure(ChannelError.eof))
    }

    private func resume(_ result: Result<HTTPResponseReader.Answer, any Error>) {
        let caller = caller
        self.caller = nil
        caller?.resume(returning: result)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let client: HTTPClient

        init(_ client: HTTPClient) { self.client = client }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let piece = unwrapInboundIn(data)
            client.assumeIsolated { $0.received(piece) }
        }

        func channelInactive(context: ChannelHandlerContext) { client.assumeIsolated { $0.connectionClosed() } }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
