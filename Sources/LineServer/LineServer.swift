public import Logging
public import Messaging
public import Metrics
public import NIOCore
import NIOPosix
public import ServiceLifecycle

/// Serves the line protocol (`docs/protocol.md`): bytes to requests, answers and pushes to bytes, with bounded memory
/// for each client. It knows no rules of messaging: those are the sessions'.
///
/// Each connection has one task, on its event loop, so that a request that needs nothing else never changes threads.
public final class LineServer: Service {
    let context: ServerContext
    private let sessions: any SessionFactory
    private let group: any EventLoopGroup
    private let bound = Announcement<Address>()

    /// Where a server listens.
    public struct Address: Sendable, Equatable {
        public let host: String
        public let port: Int

        public init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// - Parameters:
    ///   - sessions: what makes the session of each new connection.
    ///   - metrics: what makes the server's figures.
    ///   - group: the event loops that connections are spread over; by default one a core.
    public init(
        configuration: Configuration = Configuration(), sessions: any SessionFactory, logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory, group: (any EventLoopGroup)? = nil
    ) {
        self.context = ServerContext(
            configuration: configuration, metrics: LineMetrics(factory: metrics), logger: logger)
        self.sessions = sessions
        self.group = group ?? MultiThreadedEventLoopGroup.singleton
    }

    /// Where the server listens, as soon as it does.
    ///
    /// - Throws: what ``run()`` throws, where it could not listen.
    public var address: Address {
        get async throws { try await self.bound.value() }
    }

    /// Listens and serves until graceful shutdown: then it stops accepting, answers what was taken, says goodbye, and
    /// returns when all connections are closed, or at the latest after `shutdownTimeout`. Cancellation cuts all
    /// connections.
    ///
    /// - Throws: ``ListenError`` where it cannot listen.
    public func run() async throws {
        var loops: [ObjectIdentifier: LineLoop] = [:]
        let metrics = self.context.metrics
        for eventLoop in self.group.makeIterator() {
            let loop = try await eventLoop.submit { LineLoop(eventLoop, metrics: metrics) }.get()
            loops[ObjectIdentifier(eventLoop)] = loop
        }
        let all = Array(loops.values)
        let listener: NIOAsyncChannel<Connection?, Never>
        do {
            listener = try await self.listen(loops)
        } catch {
            let error = ListenError(
                host: self.context.configuration.host, port: self.context.configuration.port, error)
            self.bound.fail(error)
            throw error
        }
        let local = listener.channel.localAddress
        let address = Address(host: local?.ipAddress ?? self.context.configuration.host, port: local?.port ?? 0)
        self.bound.succeed(address)
        self.context.listening(address)

        let interval = self.context.configuration.sweepInterval
        for loop in all { loop.eventLoop.execute { loop.startSweeping(every: interval) } }
        defer { for loop in all { loop.eventLoop.execute { loop.stopSweeping() } } }
        try await self.serve(listener, all)
    }

    private func listen(_ loops: [ObjectIdentifier: LineLoop]) async throws -> NIOAsyncChannel<Connection?, Never> {
        let configuration = self.context.configuration
        let context = self.context
        return try await ServerBootstrap(group: self.group)
            .listening(configuration)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DescriptorReserve(context))
                }
            }
            .bind(host: configuration.host, port: configuration.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let loop = loops[ObjectIdentifier(channel.eventLoop)] else {
                        throw ChannelError.inappropriateOperationForState
                    }
                    let peer = channel.remoteAddress?.peer ?? ""
                    let admission = context.admit(from: configuration.expectsProxyHeader ? nil : peer)
                    if case .drop = admission {
                        channel.close(promise: nil)
                        return nil
                    }
                    let handler = ConnectionHandler(
                        server: context, loop: loop, socketAddress: peer, admission: admission)
                    let pipeline = channel.pipeline.syncOperations
                    if configuration.expectsProxyHeader { try pipeline.addHandler(ProxyHeaderHandler(of: handler)) }
                    if let certificate = configuration.certificate { try pipeline.addHandler(certificate.handler()) }
                    try pipeline.addHandler(handler)
                    guard admission == .serve, let outlet = handler.outlet else { return nil }
                    return Connection(
                        handler: NIOLoopBound(handler, eventLoop: channel.eventLoop), outlet: outlet, channel: channel)
                }
            }
    }

    private func serve(_ listener: NIOAsyncChannel<Connection?, Never>, _ loops: [LineLoop]) async throws {
        let context = self.context
        let sessions = self.sessions
        try await withTaskCancellationOrGracefulShutdown {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await listener.executeThenClose { connections in
                        try await withThrowingDiscardingTaskGroup { group in
                            for try await connection in connections {
                                guard let connection else { continue }
                                group.addTask(executorPreference: connection.taskExecutor) {
                                    await connection.run(sessions)
                                }
                            }
                        }
                    }
                }
                group.addTask {
                    try await gracefulShutdown()
                    try await Task.sleep(for: context.configuration.shutdownTimeout)
                }
                // Whichever is first: all connections are closed, or their time is over.
                defer {
                    for loop in loops { loop.forEach { $0.cut() } }
                    group.cancelAll()
                }
                try await group.next()
            }
        } onGracefulShutdown: {
            context.stop()
            listener.channel.close(promise: nil)
            for loop in loops { loop.forEach { $0.finishThenSay(.shuttingDown) } }
        } onCancel: {
            context.stop()
            listener.channel.close(promise: nil)
            for loop in loops { loop.forEach { $0.cut() } }
        }
    }
}

private func withTaskCancellationOrGracefulShutdown(
    _ operation: () async throws -> Void, onGracefulShutdown: @escaping @Sendable () -> Void,
    onCancel: @escaping @Sendable () -> Void
) async throws {
    try await withTaskCancellationHandler {
        try await withGracefulShutdownHandler(operation: operation, onGracefulShutdown: onGracefulShutdown)
    } onCancel: {
        onCancel()
    }
}
