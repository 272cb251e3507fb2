package import EventLoops
package import LineServer
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// Serves HTTP/1.1: requests one after another, each whole, with bounds on what a client can cost in memory and time.
///
/// What answers them lives on the connection's event loop, so that a request which needs nothing else never changes
/// threads. A connection can become one of another protocol with any of its requests, also with a later one: proxies
/// send upgrades over connections that they have used before.
package struct HTTPServer: Sendable {
    /// Where to listen, and how.
    package struct Configuration: Sendable {
        package var host = "127.0.0.1"

        /// 0 takes any that is free.
        package var port = 0

        /// What the server shows of itself over TLS; nil: nothing is encrypted.
        package var certificate: ServerCertificate?

        /// Whether each connection begins with a PROXY header (version 2), in which a balancer says where the client is.
        package var expectsProxyHeader = false
        package var bounds = HTTPBounds()

        package init() {}
    }

    let configuration: Configuration

    /// The line server whose bounds hold for these connections too; nil where there are only those of this one.
    let lines: LineServer?
    let pace: BodyPace

    /// Makes what answers a connection's requests, which live on that executor.
    let converse: @Sendable (LoopExecutor) -> any HTTPConversation

    package init(
        configuration: Configuration, sharing lines: LineServer?, pace: BodyPace = BodyPace { false },
        converse: @escaping @Sendable (LoopExecutor) -> any HTTPConversation
    ) {
        self.configuration = configuration
        self.lines = lines
        self.pace = pace
        self.converse = converse
    }

    /// Listens and serves until graceful shutdown: then it stops accepting, answers what was taken, and returns when all
    /// connections are closed, or at the latest after `shutdownTimeout`. Cancellation cuts all connections.
    ///
    /// - Parameter listening: is called once it listens.
    /// - Throws: `ListenError` where it cannot listen.
    package func run(_ listening: @escaping @Sendable (LineServer.Address) -> Void) async throws {
        let connections = HTTPConnections(configuration.bounds)
        let listener = try await listen(connections)
        let local = listener.localAddress
        listening(LineServer.Address(host: local?.ipAddress ?? configuration.host, port: local?.port ?? 0))
        let timeout = configuration.bounds.shutdownTimeout
        try await withTaskCancellationOrGracefulShutdown {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await listener.closeFuture.get()
                    await connections.haveEnded()
                }
                group.addTask {
                    try await gracefulShutdown()
                    try await Task.sleep(for: timeout)
                }
                // Whichever is first: all connections have ended, or their time is over.
                defer {
                    connections.cut()
                    group.cancelAll()
                }
                try await group.next()
            }
        } onGracefulShutdown: {
            listener.close(promise: nil)
            connections.stop()
        } onCancel: {
            listener.close(promise: nil)
            connections.cut()
        }
    }

    private func listen(_ connections: HTTPConnections) async throws -> any Channel {
        var socket = LineServer.Configuration()
        socket.host = configuration.host
        socket.port = configuration.port
        do {
            return try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .listening(socket)
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

    private func receive(_ channel: any Channel, among connections: HTTPConnections) throws {
        let peer = channel.remoteAddress?.peer ?? ""
        let slot = lines?.acquireSlot(for: configuration.expectsProxyHeader ? nil : peer)
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
