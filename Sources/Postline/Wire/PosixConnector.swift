import NIOCore
import NIOPosix
import NIOSSL

/// A connector with POSIX sockets, and BoringSSL for TLS.
struct PosixConnector: Connector {
    private let group: any EventLoopGroup

    /// The trusted certificates as PEM, or nil for those of the system.
    private let authorities: String?

    init(group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, authorities: String? = nil) {
        self.group = group
        self.authorities = authorities
    }

    func connect(to server: Server, inbox: Inbox, timeout: Duration) -> EventLoopFuture<any Channel> {
        let security: NIOSSLContext?
        do {
            security = try server.isEncrypted ? context() : nil
        } catch {
            return group.any().makeFailedFuture(
                PostlineError(.notTrusted, "The certificates to trust cannot be used: \(error)"))
        }
        return ClientBootstrap(group: group)
            .connectTimeout(timeout.timeAmount)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let security {
                        try pipeline.addHandler(PlainServerDetector(server, inbox))
                        try pipeline.addHandler(Self.handler(security, for: server.host))
                    }
                    try pipeline.addLines(of: server, to: inbox)
                }
            }
            .connect(host: server.host, port: server.port)
            .flatMapErrorThrowing { _ in
                throw PostlineError(
                    .offline, "No server can be reached at \(server.host):\(server.port).", isRetryable: true)
            }
    }

    private func context() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let authorities {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authorities.utf8)))
        }
        return try NIOSSLContext(configuration: configuration)
    }

    private static func handler(_ context: NIOSSLContext, for host: String) throws -> NIOSSLClientHandler {
        // An IP address is not sent as a server name. The certificate is checked against the socket's address instead.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }
}
