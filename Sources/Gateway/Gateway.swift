public import LineServer
public import Logging
public import Media
public import Messaging
public import Metrics
import NIOCore
import NIOHTTP1
public import ServiceLifecycle

/// Serves over HTTP what the line server serves over lines (`docs/http.md`): the methods, WebSocket, server-sent events,
/// the dialects of older apps, and the console.
public struct Gateway: Service {
    public struct Configuration: Sendable {
        /// The address or name to listen on.
        public var host = "127.0.0.1"

        /// The port to listen on; 0 takes any that is free.
        public var port = 7433

        /// What the server shows of itself over TLS; nil: nothing is encrypted.
        public var certificate: ServerCertificate?

        /// Whether each connection begins with a PROXY header, as on the line port.
        public var expectsProxyHeader = false

        /// The origins of pages that may use this server beside its own (`https://app.example.com`); `*`: all.
        public var origins: [String] = []

        /// Whose `X-Forwarded-For` is believed.
        public var trustedProxies = TrustedProxies()

        /// The server's version, as its description says it.
        public var version = "0"

        /// The largest message of a WebSocket, in bytes: a line's.
        public var maxLineBytes = 65_536

        /// How long after a batch's first request its last may begin: a batch is answered as a whole, within the time of
        /// one request.
        public var maxBatchTime: Duration = .seconds(30)

        /// Where pictures are, where that is a folder of this node's; nil: they are elsewhere, or there are none.
        public var pictures: FolderStore?

        /// The console, with the people who sign in there with one click; nil: there is none.
        public var console: Console?

        public init() {}
    }

    let configuration: Configuration
    let sessions: any SessionFactory
    let tickets: StreamTickets
    let activity: RequestActivity
    let lines: LineServer
    let metrics: GatewayMetrics
    let logger: Logger
    let routes: RouteTable
    private let bound = AsyncPromise<LineServer.Address>()

    /// - Parameters:
    ///   - service: what makes the session of each client.
    ///   - lines: the line server, which is to run too: its bounds hold for these connections, and it speaks what is
    ///     spoken within WebSockets and event streams.
    public init(
        configuration: Configuration, service: MessagingService, lines: LineServer, logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        self.configuration = configuration
        sessions = service
        tickets = service.streamTickets
        activity = service.activity
        self.lines = lines
        self.logger = logger
        self.metrics = GatewayMetrics(factory: metrics)
        routes = RouteTable(
            MethodRoutes.all
                + OpenAPIRoutes.all(
                    version: configuration.version, hasPictures: configuration.pictures != nil)
                + StreamRoutes.all(configuration)
                + Dialects.routes + (configuration.pictures.map(MediaRoutes.all) ?? [])
                + (configuration.console.map { $0.routes } ?? []))
    }

    /// Where it listens, as soon as it does.
    ///
    /// - Throws: what ``run()`` throws, where it could not listen.
    public var address: LineServer.Address {
        get async throws { try await bound.value() }
    }

    /// Listens once the line server does, and serves until graceful shutdown.
    ///
    /// - Throws: `ListenError` where it cannot listen.
    public func run() async throws {
        // Where the line server cannot listen, it says so itself.
        guard (try? await lines.address) != nil else { return }
        var http = HTTPServer.Configuration()
        http.host = configuration.host
        http.port = configuration.port
        http.certificate = configuration.certificate
        http.expectsProxyHeader = configuration.expectsProxyHeader
        http.bounds.requestTimeout = TimeAmount(lines.requestTimeout)
        http.bounds.maxUnwrittenBytes = lines.maxUnwrittenBytes
        let pace = BodyPace { [activity] in activity.isRecent(within: .milliseconds(100)) }
        let server = HTTPServer(configuration: http, sharing: lines, pace: pace) { GatewayConversation(self, on: $0) }
        do {
            try await server.run { address in
                logger.info(
                    "serving HTTP",
                    metadata: [
                        "host": "\(address.host)", "port": "\(address.port)",
                        "tls": "\(configuration.certificate == nil ? "off" : "on")",
                    ])
                bound.succeed(address)
            }
        } catch {
            bound.fail(error)
            throw error
        }
    }
}
