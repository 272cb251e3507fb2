import Gateway
import HTTPServing
import LineServer
import Logging
import Messaging
import Metering
import NIOCore
import NIOHTTP1

/// Serves `/healthz`, `/readyz` and `/metrics` over HTTP.
struct OperationsServer: Sendable {
    let host: String

    /// The port, or 0 for any free port.
    let port: Int

    /// The accepted host names, in addition to IP addresses and local names; `*` accepts all.
    let names: [String]
    let registry: MetricsRegistry
    let readiness: @Sendable () async -> Readiness

    /// Updates the metrics that are measured at the time of a request.
    let measure: @Sendable () -> Void
    let logger: Logger

    /// The connection limit: enough for load balancers, scrapers and people.
    var maxConnections = 64

    /// The timeout for a request, for reading its response, and for the next request.
    var waitTimeout: Duration = .seconds(15)

    /// Listens and serves until cancelled.
    ///
    /// - Parameter listening: called once the server listens.
    /// - Throws: `ListenError` if it cannot listen.
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

/// The metrics as text, written for one request at a time and off the event loops, so that many requests delay no
/// client.
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

/// The handler of the operations port's requests.
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

    /// Returns true if the hosts in `Host` and in an absolute target name this server.
    private func isTrusted(_ request: HTTPRequest) -> Bool {
        if let authority = request.target.authority, !isTrusted(authority) { return false }
        // A health check over HTTP/1.0 has no Host. Every browser sends one.
        guard let text = request.header("Host") else { return true }
        return HTTPAuthority(text).map(isTrusted) ?? false
    }

    /// Returns true if the host is a name or address of this server.
    ///
    /// A web page could point the name of its own server here (DNS rebinding) and read the response. Such a name
    /// contains a dot and is in the public DNS. Names without a dot, and names below domains that are always local (RFC
    /// 6761, RFC 6762, and `.internal`), are safe.
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
