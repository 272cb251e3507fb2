package import Logging
package import Messaging
package import Metrics
package import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// A server of the line protocol (`docs/protocol.md`). It parses requests and writes responses and pushes, with bounded
/// memory per client. Messaging rules belong to the sessions.
///
/// Each line runs as a task on the connection's event loop, so a request that needs no other thread never hops. An idle
/// connection has no task.
package final class LineServer: Service {
    let context: ServerContext
    private let sessions: any SessionFactory
    private let group: any EventLoopGroup
    private let bound = AsyncPromise<Address>()

    /// The state of each event loop of the group, once the server runs.
    private let loops = Mutex<[ObjectIdentifier: LineLoop]>([:])

    /// The address of a listening server.
    package struct Address: Sendable, Equatable {
        package let host: String
        package let port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    /// - Parameters:
    ///   - sessions: creates the session of each new connection.
    ///   - metrics: creates the server's metrics.
    ///   - group: the event loops of the connections, by default one per core.
    package init(
        configuration: Configuration = Configuration(), sessions: any SessionFactory, logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory, group: (any EventLoopGroup)? = nil
    ) {
        context = ServerContext(
            configuration: configuration, metrics: LineMetrics(factory: metrics), logger: logger)
        self.sessions = sessions
        self.group = group ?? MultiThreadedEventLoopGroup.singleton
    }

    /// The listening address, available once the server listens.
    ///
    /// - Throws: the error of ``run()`` if it could not listen.
    package var address: Address {
        get async throws { try await bound.value() }
    }

    /// Listens and serves until graceful shutdown. Then it stops accepting, answers accepted requests, says goodbye,
    /// and returns when all connections are closed, at the latest after `shutdownTimeout`. Cancellation cuts all
    /// connections.
    ///
    /// - Throws: ``ListenError`` if it cannot listen.
    package func run() async throws {
        let metrics = context.metrics
        let queuedBytes = QueuedBytes(limit: context.configuration.maxUnwrittenBytes)
        for eventLoop in group.makeIterator() {
            let loop = try await eventLoop.submit { LineLoop(eventLoop, metrics: metrics, queuedBytes: queuedBytes) }
                .get()
            loops.withLock { $0[ObjectIdentifier(eventLoop)] = loop }
        }
        let all = loops.withLock { Array($0.values) }
        let listener: any Channel
        do {
            listener = try await listen()
        } catch {
            let error = ListenError(
                host: context.configuration.host, port: context.configuration.port, error)
            bound.fail(error)
            throw error
        }
        let local = listener.localAddress
        let address = Address(host: local?.ipAddress ?? context.configuration.host, port: local?.port ?? 0)
        bound.succeed(address)
        context.listening(address)

        let interval = context.configuration.sweepInterval
        for loop in all { loop.eventLoop.execute { loop.startSweeping(every: interval) } }
        defer { for loop in all { loop.eventLoop.execute { loop.stopSweeping() } } }
        try await serve(listener, all)
    }

    private func listen() async throws -> any Channel {
        let context = self.context
        let configuration = context.configuration
        return try await ServerBootstrap(group: group)
            .listening(configuration)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(DescriptorReserve(context))
                    try pipeline.addHandler(AcceptFilter(of: self) { _ in configuration.expectsProxyHeader })
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let peer = channel.remoteAddress?.peer ?? ""
                    let slot = self.acquireSlot(for: configuration.expectsProxyHeader ? nil : peer, of: channel)
                    if slot.isDropped { return channel.close(promise: nil) }
                    let handler = try self.handler(
                        of: slot, on: channel.eventLoop, socketAddress: peer,
                        isHandshakeAwaited: configuration.certificate != nil)
                    let pipeline = channel.pipeline.syncOperations
                    if configuration.expectsProxyHeader { try pipeline.addHandler(ProxyHeaderHandler(of: handler)) }
                    if let certificate = configuration.certificate {
                        try pipeline.addHandler(certificate.handler(for: .lines))
                    } else {
                        handler.directWriter = DirectSocketWriter(of: channel)
                    }
                    try pipeline.addHandler(handler)
                }
            }
            .bind(host: configuration.host, port: configuration.port)
            .get()
    }

    private func handler(
        of slot: AdmissionSlot, on eventLoop: any EventLoop, socketAddress: String, isHandshakeAwaited: Bool
    ) throws -> ConnectionHandler {
        guard let loop = loops.withLock({ $0[ObjectIdentifier(eventLoop)] }) else {
            throw ChannelError.inappropriateOperationForState
        }
        return ConnectionHandler(
            slot, loop: loop, sessions: sessions, socketAddress: socketAddress, isHandshakeAwaited: isHandshakeAwaited)
    }

    private func serve(_ listener: any Channel, _ loops: [LineLoop]) async throws {
        let context = self.context
        let stop = { @Sendable (end: @escaping @Sendable (ConnectionHandler) -> Void) in
            context.stop()
            listener.close(promise: nil)
            for loop in loops { loop.forEach(end) }
        }
        try await withTaskCancellationOrGracefulShutdown {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await listener.closeFuture.get()
                    await context.connections.haveEnded()
                    context.report(unended: context.connections)
                }
                group.addTask {
                    try await gracefulShutdown()
                    try await Task.sleep(for: context.configuration.shutdownTimeout)
                }
                // Runs when all connections have ended or the shutdown timeout has passed.
                defer {
                    stop { $0.abort() }
                    group.cancelAll()
                }
                try await group.next()
            }
        } onGracefulShutdown: {
            stop { $0.finishThenSay(.shuttingDown) }
        } onCancel: {
            stop { $0.abort() }
        }
    }
}

/// An interface for a server of another protocol, which shares the limits and can hand over connections that carry
/// lines in their own framing.
extension LineServer {
    /// The time after which a request is abandoned.
    package var requestTimeout: Duration { context.configuration.requestTimeout }

    /// The maximum response bytes that may wait for all clients of a server together.
    package var maxUnwrittenBytes: Int { context.configuration.maxUnwrittenBytes }

    /// Counts a client of the other server that was cut off because too many bytes waited for all of its clients.
    package func overloaded() { context.metrics.overloaded() }

    /// Logs the connections that did not end before their server, if there are any.
    package func report(unended connections: OpenConnections) { context.report(unended: connections) }

    /// Counts a new connection. Returns true if its address opens them too quickly, and counts the refusal.
    func refusesNew(from peer: String) -> Bool {
        guard context.isTooOften(peer) else { return false }
        context.metrics.refused(.tooOften)
        return true
    }

    /// Acquires a slot for a client of either server. A dropped slot must not be kept.
    ///
    /// - Parameter peerAddress: nil if a PROXY header will provide it.
    package func acquireSlot(for peerAddress: String?, of channel: any Channel) -> AdmissionSlot {
        AdmissionSlot(in: context, peerAddress: peerAddress) { channel.close(promise: nil) }
    }

    /// Serves the line protocol on an open channel, at the end of its pipeline. The handlers before it decode input to
    /// lines and may encode written lines.
    ///
    /// Must be called on the channel's event loop, while the server runs, with `autoRead` off.
    ///
    /// - Parameter slot: the client's slot, which the connection owns from here on.
    package func takeOver(_ channel: any Channel, _ slot: AdmissionSlot) throws {
        let handler = try self.handler(
            of: slot, on: channel.eventLoop, socketAddress: slot.peerAddress ?? "", isHandshakeAwaited: false)
        try channel.pipeline.syncOperations.addHandler(handler)
    }
}

package func withTaskCancellationOrGracefulShutdown(
    _ operation: () async throws -> Void, onGracefulShutdown: @escaping @Sendable () -> Void,
    onCancel: @escaping @Sendable () -> Void
) async throws {
    try await withTaskCancellationHandler {
        try await withGracefulShutdownHandler(operation: operation, onGracefulShutdown: onGracefulShutdown)
    } onCancel: {
        onCancel()
    }
}
