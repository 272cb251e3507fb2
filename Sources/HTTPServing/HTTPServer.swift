package import Concurrency
package import LineServer
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// An HTTP/1.1 server that processes the complete requests of a connection one after another, and bounds the memory and
/// time that a client can use.
///
/// The request handler is confined to the connection's event loop, so a request that needs nothing else never changes
/// threads. Any request of a connection can upgrade it to another protocol, since proxies send upgrades over connections
/// that they have used before.
package struct HTTPServer: Sendable {
    /// The server's address and options.
    package struct Configuration: Sendable {
        package var host = "127.0.0.1"

        /// The port to listen on; 0 chooses a free port.
        package var port = 0

        /// The certificate for TLS; nil to serve without TLS.
        package var certificate: ServerCertificate?

        /// True if each connection begins with a PROXY header (version 2), in which a load balancer names the client's
        /// address.
        package var expectsProxyHeader = false
        package var bounds = HTTPBounds()

        /// The proxies whose connections are not counted by address, since they serve many clients.
        package var trustedProxies = TrustedProxies()

        package init() {}
    }

    package let configuration: Configuration

    /// The line server that these connections share their bounds with; nil if there is none.
    package let lineServer: LineServer?

    /// The limits of all uploads and of all downloads of files.
    let uploadRateGuard: TransferRateGuard
    let downloadRateGuard: TransferRateGuard

    /// Creates the request handler of a connection, confined to the executor.
    let makeHandler: @Sendable (LoopExecutor) -> any HTTPRequestHandler

    /// - Parameter isBusy: returns true if the server is handling requests other than transfers of files.
    package init(
        configuration: Configuration, sharing lineServer: LineServer?,
        isBusy: @escaping @Sendable () -> Bool = { false },
        makeHandler: @escaping @Sendable (LoopExecutor) -> any HTTPRequestHandler
    ) {
        self.configuration = configuration
        self.lineServer = lineServer
        // 250 Mbit/s of uploads cost a tenth of a processor, as do 1,000 Mbit/s of downloads.
        uploadRateGuard = TransferRateGuard(bytesPerSecond: 32 << 20, isBusy: isBusy)
        downloadRateGuard = TransferRateGuard(bytesPerSecond: 128 << 20, isBusy: isBusy)
        self.makeHandler = makeHandler
    }

    /// Listens and serves until graceful shutdown. Then it stops accepting, completes the requests in progress, and returns
    /// when all connections have closed, or after `shutdownTimeout`. Cancellation closes all connections immediately.
    ///
    /// - Parameter listening: called once the server listens.
    /// - Throws: `ListenError` if it cannot listen.
    package func run(_ listening: @escaping @Sendable (LineServer.Address) -> Void) async throws {
        let connections = HTTPConnections(configuration.bounds)
        let listener = try await listen(connections)
        let local = listener.localAddress
        listening(LineServer.Address(host: local?.ipAddress ?? configuration.host, port: local?.port ?? 0))
        let timeout = configuration.bounds.shutdownTimeout
        try await withTaskCancellationOrGracefulShutdown {
            try await withThrowingTaskGroup { [lineServer] group in
                group.addTask {
                    try await listener.closeFuture.get()
                    await connections.open.haveEnded()
                    lineServer?.report(unended: connections.open)
                }
                group.addTask {
                    try await gracefulShutdown()
                    try await Task.sleep(for: timeout)
                }
                // Waits until all connections have ended or the timeout has passed.
                defer {
                    connections.closeAll()
                    group.cancelAll()
                }
                try await group.next()
            }
        } onGracefulShutdown: {
            listener.close(promise: nil)
            connections.stop()
        } onCancel: {
            listener.close(promise: nil)
            connections.closeAll()
        }
    }

    private func listen(_ connections: HTTPConnections) async throws -> any Channel {
        var socket = LineServer.Configuration()
        socket.host = configuration.host
        socket.port = configuration.port
        do {
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .listening(socket)
                .serverChannelInitializer { [lineServer] channel in
                    guard let lineServer else { return channel.eventLoop.makeSucceededVoidFuture() }
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptFilter(of: lineServer) { self.isShared($0) })
                    }
                }
                .childChannelOption(.autoRead, value: true)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try self.receive(channel, among: connections) }
                }
                .bind(host: configuration.host, port: configuration.port)
                .get()
        } catch {
            throw ListenError(host: configuration.host, port: configuration.port, error)
        }
    }

    /// Returns true if many clients may connect from the address, since it is a proxy's.
    private func isShared(_ peer: String) -> Bool {
        configuration.expectsProxyHeader || configuration.trustedProxies.contains(peer)
    }

    private func receive(_ channel: any Channel, among connections: HTTPConnections) throws {
        let peer = channel.remoteAddress?.peer ?? ""
        let slot = lineServer?.acquireSlot(for: isShared(peer) ? nil : peer, of: channel)
        if slot?.isDropped == true { return channel.close(promise: nil) }
        let encoding = HTTPResponseEncoder()
        let decoding = HTTPRequestDecoding(configuration.bounds)
        let connection = HTTPConnection(
            server: self, connections: connections, slot: slot, socketAddress: peer, decoding: decoding,
            encoding: encoding, loop: channel.eventLoop)
        let pipeline = channel.pipeline.syncOperations
        if configuration.expectsProxyHeader { try pipeline.addHandler(ProxyHeaderHandler(of: connection)) }
        if let certificate = configuration.certificate { try pipeline.addHandler(certificate.handler(for: .http)) }
        try pipeline.addHandler(encoding)
        try pipeline.addHandler(decoding)
        try pipeline.addHandler(connection)
    }
}
