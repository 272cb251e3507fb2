internal import Gateway
internal import LineServer
internal import Logging
internal import Messaging
internal import Metering
internal import NIOCore
internal import NIOHTTP1

/// Serves what those who run a node ask of it over HTTP: `/healthz`, `/readyz` and `/metrics`.
struct OperationsServer: Sendable {
    let host: String

    /// 0 takes any that is free.
    let port: Int

    /// The names under which it is asked, beside addresses and local names; `*` for all.
    let names: [String]
    let registry: MetricsRegistry
    let readiness: @Sendable () async -> Readiness

    /// Takes the figures that are taken when they are asked for.
    let measure: @Sendable () -> Void
    let logger: Logger

    /// Enough for any number of balancers, of those who scrape figures and of people who look.
    var maxConnections = 64

    /// Within it a request must have come and its answer been read, and another be asked.
    var waitTimeout: Duration = .seconds(15)

    /// Listens and serves until it is cancelled.
    ///
    /// - Parameter listening: is called once it listens.
    /// - Throws: `ListenError` where it cannot listen.
    func run(_ listening: @escaping @Sendable (LineServer.Address) -> Void) async throws {
        var configuration = HTTPServer.Configuration()
        configuration.host = host
        configuration.port = port
        configuration.bounds.maxConnections = maxConnections
        let waitTimeout = TimeAmount(waitTimeout)
        configuration.bounds.headTimeout = waitTimeout
        configuration.bounds.bodyTimeout = waitTimeout
        configuration.bounds.writeTimeout = waitTimeout
        configuration.bounds.idleTimeout = waitTimeout
        let page = MetricsPage(registry, measure: measure)
        let handler = OperationsRequestHandler(server: self, metrics: page)
        let server = HTTPServer(configuration: configuration, sharing: nil) { _ in handler }
        try await server.run { [logger] address in
            logger.info(
                "serving health and metrics", metadata: ["host": "\(address.host)", "port": "\(address.port)"])
            listening(address)
        }
    }
}

/// The metrics as text. It is written one request after another and on no event loop, so that many requests for it keep
/// no client waiting.
private actor MetricsPage {
    private let registry: MetricsRegistry
    private let memory: ProcessMemory
    private let measure: @Sendable () -> Void

    init(_ registry: MetricsRegistry, measure: @escaping @Sendable () -> Void) {
        self.registry = registry
        self.measure = measure
        memory = ProcessMemory(registry)
    }

    func text() -> String {
        memory.measure()
        measure()
        return registry.text
    }
}

/// The answers of the operations port, which are the same for everybody.
private struct OperationsRequestHandler: HTTPRequestHandler {
    let server: OperationsServer
    let metrics: MetricsPage

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        guard isTrusted(request) else {
            let why =
                "This port does not answer to that host: POSTLINE_OPERATIONS_NAMES names those that it answers to, "
                + "beside IP addresses and local names.\n"
            return HTTPResponse(.misdirectedRequest, text: why)
        }
        if request.target.isServerWide { return HTTPResponse(.noContent, ["Allow": "GET, HEAD"]) }
        var answer = await answer(request.target.segments)
        if answer.status == .ok, ![.GET, .HEAD].contains(request.method) {
            answer = HTTPResponse(.methodNotAllowed, text: "GET it.\n")
            answer.headers.add(name: "Allow", value: "GET, HEAD")
        }
        answer.headers.add(name: "Cache-Control", value: "no-store")
        return answer
    }

    /// True if a request is for this server by the hosts that it names, in `Host` and in an absolute target.
    private func isTrusted(_ request: HTTPRequest) -> Bool {
        if let authority = request.target.authority, !isTrusted(authority) { return false }
        // HTTP/1.0 of a health check: every browser names a Host.
        guard let text = request.header("Host") else { return true }
        return HTTPAuthority(text).map(isTrusted) ?? false
    }

    /// True if the host is a name or address of this server.
    ///
    /// A page of the web can have the name of its own server lead here (DNS rebinding), and then read what is answered:
    /// its name has a dot, and is in the public DNS. A name without one, and one below a domain that is only ever local
    /// (RFC 6761, RFC 6762, and `.internal`), are not.
    private func isTrusted(_ authority: HTTPAuthority) -> Bool {
        var name = authority.host[...]
        if name.last == "." { name.removeLast() }
        return authority.isAddress || !name.contains(".") || Self.localDomains.contains { name.hasSuffix($0) }
            || (server.names + [server.host]).contains { $0 == "*" || $0.lowercased() == name }
    }

    private static let localDomains = [".localhost", ".local", ".internal"]

    private func answer(_ path: [String]) async -> HTTPResponse {
        switch path {
        case ["healthz"]: return HTTPResponse(.ok, text: "alive\n")
        case ["readyz"]:
            return switch await server.readiness() {
            case .ready(let lag):
                HTTPResponse(.ok, text: "ready, feed lag \((lag / .milliseconds(100)).rounded() / 10) s\n")
            case .notReady(let why): HTTPResponse(.serviceUnavailable, text: why + "\n")
            }
        case ["metrics"]:
            let text = await withTaskExecutorPreference(globalConcurrentExecutor) { await metrics.text() }
            return HTTPResponse(.ok, text: text, type: "text/plain; version=0.0.4; charset=utf-8")
        default: return HTTPResponse(.notFound, text: "There are /healthz, /readyz and /metrics.\n")
        }
    }

    func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse {
        HTTPResponse(error.status, text: error.message + "\n")
    }

    func close() async {}
}
