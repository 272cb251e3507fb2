internal import Hummingbird
internal import HummingbirdCore
internal import LineServer
internal import Logging
internal import Messaging
internal import Metering
internal import NIOCore

/// Serves what those who run a node ask of it over HTTP: `/healthz`, `/readyz` and `/metrics`.
struct OperationsServer: Sendable {
    let host: String

    /// 0 takes any that is free.
    let port: Int
    let registry: MetricsRegistry
    let readiness: @Sendable () async -> Readiness

    /// Takes the figures that are taken when they are asked for.
    let measure: @Sendable () -> Void
    let logger: Logger

    /// Enough for any number of balancers, of those who scrape figures and of people who look.
    var maxConnections = 64

    /// Within it a request must have come and its answer been read, and another be asked.
    var patience: Duration = .seconds(15)

    /// All that is asked here has no body and a head of a few lines.
    private static let head = HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: 8_192, maxHeaderListSize: 16_384, maxHeaderFieldCount: 100)

    /// Listens and serves until it is cancelled.
    ///
    /// - Parameter listening: is called once it listens.
    /// - Throws: `ListenError` where it cannot listen.
    func run(_ listening: @escaping @Sendable (LineServer.Address) -> Void) async throws {
        // It would tell as an error that it was cancelled, which is how it ends.
        var quiet = logger
        quiet.logLevel = .critical
        let connections = OperationsConnections(limit: maxConnections, patience: patience)
        let application = Application(
            router: router,
            server: .http1(
                configuration: .init(
                    additionalChannelHandlers: [connections.handler()], httpDecoderConfiguration: Self.head)),
            configuration: .init(address: .hostname(host, port: port), serverName: "postline"),
            onServerRunning: { [host, logger] channel in
                let address = LineServer.Address(host: host, port: channel.localAddress?.port ?? 0)
                logger.info(
                    "serving health and metrics", metadata: ["host": "\(host)", "port": "\(address.port)"])
                listening(address)
            }, logger: quiet)
        do {
            try await application.run()
        } catch let error where error is IOError || error is SocketAddressError.UnknownHost {
            throw ListenError(host: host, port: port, error)
        }
    }

    private var router: Router<BasicRequestContext> {
        let router = Router()
        router.get("healthz") { _, _ in Self.text(.ok, "alive\n") }
        router.get("readyz") { [readiness] _, _ in
            switch await readiness() {
            case .ready(let lag):
                Self.text(.ok, "ready, feed lag \((lag / .milliseconds(100)).rounded() / 10) s\n")
            case .notReady(let why): Self.text(.serviceUnavailable, why + "\n")
            }
        }
        let memory = ProcessMemory(registry)
        router.get("metrics") { [registry, measure] _, _ in
            memory.measure()
            measure()
            return Self.text(.ok, registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
        }
        return router
    }

    private static func text(
        _ status: HTTPResponse.Status, _ text: String, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
