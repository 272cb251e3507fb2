import ChangeFeed
@testable import DatabaseAccess
import Foundations
import Logging
import Messaging
import Metering
import NIOCore
import NIOPosix
import Postgres
import ServiceLifecycle
import Synchronization
import Testing
import WireProtocol

@testable import LineServer

/// A session whose responses the test provides.
final class StubSession: LineSession {
    typealias Body = @Sendable (Request, StubSession) async -> Answer

    let sink: any ClientSink
    let peerAddress: String
    var owner: RequestOwner { RequestOwner(AddressKey(peerAddress)) }

    /// Succeeds when the session has closed.
    let closed = AsyncPromise<Void>()

    private let body: Body

    /// True if each request waits until its task is cancelled.
    private let exceedsLimits: Bool
    private let methods = Mutex<[String]>([])
    private let (starts, started) = AsyncStream.makeStream(of: Void.self)

    init(sink: any ClientSink, peerAddress: String, exceedsLimits: Bool = false, body: @escaping Body) {
        self.exceedsLimits = exceedsLimits
        self.sink = sink
        self.peerAddress = peerAddress
        self.body = body
    }

    /// The methods of the requests so far.
    var requests: [String] { self.methods.withLock { $0 } }

    func answer(_ request: Request, _ id: RequestID) async -> Answer {
        self.methods.withLock { $0.append(request.method) }
        return await self.body(request, self)
    }

    /// Succeeds when a request waits, if all exceed the limits.
    let waits = AsyncPromise<Void>()

    func admitRequest(bytes: Int, canWait: Bool) async throws(ProtocolError) -> Bool {
        guard exceedsLimits else { return false }
        if !canWait { throw .timeout }
        waits.succeed(())
        let (never, _) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}
        throw .timeout
    }

    func countRequests(_ count: Int) {}

    func close() async { self.closed.succeed(()) }

    /// Starts pushes from cursor c0.
    func startPushes() {
        self.sink.startPushes(cursor: "c0")
        self.started.yield()
    }

    /// Waits for the next start of pushes.
    func hasStartedPushes() async {
        for await _ in self.starts { return }
    }

    /// Reads the session's connection on its event loop. Returns nil if it is closed.
    func onLoop<Value: Sendable>(_ body: @escaping @Sendable (ConnectionHandler) -> Value) async throws -> Value? {
        guard let sink = self.sink as? ConnectionSink else { throw Failure("no connection") }
        return try await sink.loop.eventLoop.submit { sink.connection.map(body) }.get()
    }
}

/// A factory of stub sessions, which the test receives in order.
final class StubSessions: SessionFactory {
    let made: AsyncStream<StubSession>
    private let continuation: AsyncStream<StubSession>.Continuation
    private let body: StubSession.Body
    private let exceedLimits: Bool

    /// - Parameter exceedLimits: true if the requests of all sessions exceed the limits.
    init(exceedLimits: Bool = false, _ body: @escaping StubSession.Body) {
        self.exceedLimits = exceedLimits
        (self.made, self.continuation) = AsyncStream.makeStream()
        self.body = body
    }

    func admitRequest(peerAddress: String, bytes: Int, canWait: Bool) {}

    func makeSession(sink: any ClientSink, peerAddress: String) -> any LineSession {
        let session = StubSession(
            sink: sink, peerAddress: peerAddress, exceedsLimits: exceedLimits, body: self.body)
        self.continuation.yield(session)
        return session
    }

    /// Returns the next session.
    func next() async throws -> StubSession {
        for await session in self.made { return session }
        throw Failure("no session")
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Answer {
    static func result(_ value: JSON) -> Answer { Answer(.result(ByteBuffer(string: value.text))) }
}

/// A body that returns the request's parameters.
let echo: StubSession.Body = { request, _ in .result(.object(request.params)) }

extension LineServer.Configuration {
    /// Returns the default limits on a free port, with no deadline that a busy machine could exceed.
    static func test(_ change: (inout LineServer.Configuration) -> Void = { _ in }) -> LineServer.Configuration {
        var configuration = LineServer.Configuration()
        configuration.port = 0
        configuration.version = "1.2.3"
        configuration.pingInterval = .seconds(3_600)
        configuration.authenticationTimeout = .seconds(3_600)
        configuration.slowConsumerTimeout = .seconds(3_600)
        configuration.requestTimeout = .seconds(3_600)
        configuration.lingerTimeout = .seconds(60)
        change(&configuration)
        return configuration
    }
}

/// A server that runs during a test.
struct RunningServer: Sendable {
    let address: LineServer.Address
    let sessions: StubSessions
    let services: ServiceGroup

    /// The state that connections share.
    let context: ServerContext

    /// The server's metrics.
    let metrics: MetricsRegistry

    /// Starts a graceful shutdown without waiting for it.
    func stop() async { await self.services.triggerGracefulShutdown() }

    /// Connects a client, and reads the hello.
    func connect() async throws -> TestClient {
        let client = try await TestClient(self.address)
        let hello = try await client.line()
        guard hello?.contains("server.hello") == true else { throw Failure("no hello: \(hello ?? "end")") }
        return client
    }
}

/// Runs a server, and closes remaining connections.
func withServer(
    _ configuration: LineServer.Configuration = .test(), exceedLimits: Bool = false,
    _ body: @escaping StubSession.Body = echo, test: (RunningServer) async throws -> Void
) async throws {
    let sessions = StubSessions(exceedLimits: exceedLimits, body)
    let metrics = MetricsRegistry()
    let server = LineServer(
        configuration: configuration, sessions: sessions, logger: Logger(label: "test"), metrics: metrics)
    let services = ServiceGroup(services: [server], logger: Logger(label: "test"))
    try await withThrowingTaskGroup { group in
        group.addTask { try await services.run() }
        try await test(
            RunningServer(
                address: try await server.address, sessions: sessions, services: services, context: server.context,
                metrics: metrics))
        group.cancelAll()
    }
}

/// A client that reads only on demand.
struct TestClient: Sendable {
    let channel: any Channel
    private let handler: NIOLoopBound<Handler>

    /// - Parameters:
    ///   - local: The local address, or nil for the kernel's choice.
    ///   - receiveBufferBytes: The size of the kernel's receive buffer, or nil for its default.
    init(_ address: LineServer.Address, from local: String? = nil, receiveBufferBytes: Int? = nil) async throws {
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.hours(1))
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        if let local { bootstrap = bootstrap.bind(to: try SocketAddress(ipAddress: local, port: 0)) }
        if let receiveBufferBytes {
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBufferBytes))
        }
        (self.channel, self.handler) = try await bootstrap.connect(host: address.host, port: address.port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = Handler(eventLoop: channel.eventLoop)
                try channel.pipeline.syncOperations.addHandler(handler)
                return (channel, NIOLoopBound(handler, eventLoop: channel.eventLoop))
            }
        }
    }

    func send(_ text: String) async throws { try await self.send(ByteBuffer(string: text)) }

    func send(_ bytes: ByteBuffer) async throws { try await self.channel.writeAndFlush(bytes) }

    /// Sends without waiting for the write.
    func post(_ bytes: ByteBuffer) { self.channel.writeAndFlush(bytes, promise: nil) }

    /// Half-closes the connection.
    func end() async throws { try await self.channel.close(mode: .output) }

    func close() async throws { try await self.channel.close() }

    /// Resets the connection, like a process that dies with unread bytes.
    func reset() async throws {
        let provider = try #require(self.channel as? any SocketOptionProvider)
        try await provider.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try await self.close()
    }

    /// Returns the next line without its end, or nil at the end of input.
    func line() async throws -> String? {
        try await self.channel.eventLoop.flatSubmit { self.handler.value.line() }.get()
    }

    /// Sends a line, and returns the next line.
    func call(_ line: String) async throws -> String? {
        try await self.send(line + "\n")
        return try await self.line()
    }

    /// Returns all lines up to the end.
    func rest() async throws -> [String] {
        var lines: [String] = []
        while let line = try await self.line() { lines.append(line) }
        return lines
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let eventLoop: any EventLoop
        private var context: ChannelHandlerContext?
        private var bytes = ByteBuffer()
        private var scanned = 0
        private var hasEnded = false
        private var waiting: [EventLoopPromise<String?>] = []

        init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        // The context retains the handler.
        func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

        func line() -> EventLoopFuture<String?> {
            let promise = self.eventLoop.makePromise(of: String?.self)
            self.waiting.append(promise)
            self.give()
            return promise.futureResult
        }

        private func give() {
            while let promise = self.waiting.first {
                if let count = firstLineEnd(in: self.bytes.readableBytesSpan, from: self.scanned) {
                    self.scanned = 0
                    self.waiting.removeFirst()
                    let line = self.bytes.readString(length: count)
                    self.bytes.moveReaderIndex(forwardBy: 1)
                    self.bytes.discardReadBytes()
                    promise.succeed(line)
                } else if self.hasEnded {
                    self.waiting.removeFirst()
                    promise.succeed(nil)
                } else {
                    self.scanned = self.bytes.readableBytes
                    self.context?.read()
                    return
                }
            }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.bytes.writeImmutableBuffer(Self.unwrapInboundIn(data))
        }

        func channelReadComplete(context: ChannelHandlerContext) { self.give() }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            guard case ChannelEvent.inputClosed = event else { return }
            self.hasEnded = true
            self.give()
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.hasEnded = true
            self.give()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

func request(_ id: Int, _ method: String = "echo", _ params: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
}

func answer(_ id: Int, _ result: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"#
}

func push(_ number: Int, padding: Int = 0) -> Push {
    Push(
        line: ByteBuffer(
            string:
                #"{"jsonrpc":"2.0","method":"changes","params":{"n":\#(number),"x":"\#(String(repeating: "x", count: padding))"}}"#
                + "\n"),
        cursor: "c\(number)")
}

extension ClientSink {
    /// Pushes to this client only.
    func push(_ push: Push) { pushTarget.push([Multicast(push, receivers: [self])]) {} }
}
