import Accounts
import DatabaseAccess
package import HTTPServing
package import LineServer
package import Logging
package import Media
package import Messaging
package import Metrics
import NIOCore
import NIOHTTP1
import ServiceLifecycle

/// The HTTP gateway (`docs/http.md`): all methods, WebSocket, server-sent events, the compatibility endpoints, and the
/// console.
package struct Gateway: Service {
    package struct Configuration: Sendable {
        /// The address or name to listen on.
        package var host = "127.0.0.1"

        /// The port to listen on; 0 chooses a free port.
        package var port = 7433

        /// The certificate for TLS; nil to serve without TLS.
        package var certificate: ServerCertificate?

        /// True if each connection begins with a PROXY header, as on the line port.
        package var expectsProxyHeader = false

        /// The origins of other pages that may use this server (`https://app.example.com`); `*` allows all.
        package var origins: [String] = []

        /// The proxies whose `X-Forwarded-For` is trusted.
        package var trustedProxies = TrustedProxies()

        /// The server's version, for the OpenAPI document.
        package var version = "0"

        /// The largest WebSocket message, in bytes. Equals the largest line.
        package var maxLineBytes = 65_536

        /// The time after which no further request of a batch begins, since the whole batch must complete within the
        /// request timeout.
        package var maxBatchTime: Duration = .seconds(30)

        /// The folder that stores pictures on this node; nil if they are stored elsewhere or not at all.
        package var pictures: FolderStore?

        /// The web console and its demo accounts; nil to serve no console.
        package var console: Console?

        package init() {}
    }

    let configuration: Configuration
    let sessions: any SessionFactory
    let tickets: StreamTickets
    let activity: RequestActivity

    /// Limits the pages of conversations with profiles that are read and converted at a time.
    let conversationPages: ConcurrencyLimiter

    /// Limits the batches whose answers are collected at a time.
    let batches: ConcurrencyLimiter
    let lineServer: LineServer
    let metrics: GatewayMetrics
    let logger: Logger
    let routes: RouteTable
    private let listeningAddress = AsyncPromise<LineServer.Address>()

    /// - Parameters:
    ///   - service: creates the sessions.
    ///   - lineServer: the running line server. Connections share its bounds, and it handles WebSockets and event streams.
    package init(
        configuration: Configuration, service: MessagingService, lineServer: LineServer, logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.configuration = configuration
        sessions = service
        tickets = service.streamTickets
        activity = service.activity
        conversationPages = service.conversationPages
        batches = service.batches
        self.lineServer = lineServer
        self.logger = logger
        self.metrics = GatewayMetrics(factory: metrics)
        routes = RouteTable(
            MethodRoutes.all
                + OpenAPIRoutes.all(
                    version: configuration.version, hasPictures: configuration.pictures != nil)
                + StreamRoutes.all(configuration)
                + CompatibilityEndpoints.routes + (configuration.pictures.map(MediaRoutes.all) ?? [])
                + (configuration.console.map { $0.routes } ?? []))
    }

    /// The listening address, available once the gateway listens.
    ///
    /// - Throws: the error of ``run()`` if it could not listen.
    package var address: LineServer.Address {
        get async throws { try await listeningAddress.value() }
    }

    /// Listens once the line server does, and serves until graceful shutdown.
    ///
    /// - Throws: `ListenError` if it cannot listen.
    package func run() async throws {
        // The line server reports its own failure to listen.
        guard (try? await lineServer.address) != nil else { return }
        var http = HTTPServer.Configuration()
        http.host = configuration.host
        http.port = configuration.port
        http.certificate = configuration.certificate
        http.expectsProxyHeader = configuration.expectsProxyHeader
        http.trustedProxies = configuration.trustedProxies
        http.bounds.requestTimeout = TimeAmount(lineServer.requestTimeout)
        http.bounds.maxUnwrittenBytes = lineServer.maxUnwrittenBytes
        let server = HTTPServer(
            configuration: http, sharing: lineServer,
            isBusy: { [activity] in activity.isRecent(within: .milliseconds(100)) },
            makeHandler: { GatewayRequestHandler(self, on: $0) })
        do {
            try await server.run { address in
                logger.info(
                    "serving HTTP",
                    metadata: [
                        "host": "\(address.host)", "port": "\(address.port)",
                        "tls": "\(configuration.certificate == nil ? "off" : "on")",
                    ])
                listeningAddress.succeed(address)
            }
        } catch {
            listeningAddress.fail(error)
            throw error
        }
    }
}
