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
    let registry: MetricsRegistry
    let readiness: @Sendable () async -> Readiness

    /// Takes the figures that are taken when they are asked for.
    let measure: @Sendable () -> Void
    let logger: Logger

    /// Enough for any number of balancers, of those who scrape figures and of people who look.
    var maxConnections = 64

    /// Within it a request must have come and its answer been read, and another be asked.
    var patience: Duration = .seconds(15)

    /// Listens and serves until it is cancelled.
    ///
    /// - Parameter listening: is called once it listens.
    /// - Throws: `ListenError` where it cannot listen.
    func run(_ listening: @escaping @Sendable (LineServer.Address) -> Void) async throws {
        var configuration = HTTPServer.Configuration()
        configuration.host = host
        configuration.port = port
        configuration.bounds.maxConnections = maxConnections
        let patience = TimeAmount(patience)
        configuration.bounds.headTimeout = patience
        configuration.bounds.bodyTimeout = patience
        configuration.bounds.writeTimeout = patience
        configuration.bounds.idleTimeout = patience
        let conversation = OperationsConversation(server: self, memory: ProcessMemory(registry))
        let server = HTTPServer(configuration: configuration, sharing: nil) { _ in conversation }
        try await server.run { [logger] address in
            logger.info(
                "serving health and metrics", metadata: ["host": "\(address.host)", "port": "\(address.port)"])
            listening(address)
        }
    }
}

/// The answers of the operations port, which are the same for everybody.
private struct OperationsConversation: HTTPConversation {
    let server: OperationsServer
    let memory: ProcessMemory

    func answer(_ request: HTTPRequest) async -> HTTPAnswer {
        var answer = await answer(request.target.segments)
        if answer.status == .ok, ![.GET, .HEAD].contains(request.method) {
            answer = HTTPAnswer(.methodNotAllowed, text: "GET it.\n")
            answer.headers.add(name: "Allow", value: "GET, HEAD")
        }
        answer.headers.add(name: "Cache-Control", value: "no-store")
        return answer
    }

    private func answer(_ path: [String]) async -> HTTPAnswer {
        switch path {
        case ["healthz"]: return HTTPAnswer(.ok, text: "alive\n")
        case ["readyz"]:
            return switch await server.readiness() {
            case .ready(let lag):
                HTTPAnswer(.ok, text: "ready, feed lag \((lag / .milliseconds(100)).rounded() / 10) s\n")
            case .notReady(let why): HTTPAnswer(.serviceUnavailable, text: why + "\n")
            }
        case ["metrics"]:
            memory.measure()
            server.measure()
            return HTTPAnswer(.ok, text: server.registry.text, type: "text/plain; version=0.0.4; charset=utf-8")
        default: return HTTPAnswer(.notFound, text: "There are /healthz, /readyz and /metrics.\n")
        }
    }

    func refusal(_ status: HTTPResponseStatus, _ why: String, of headers: HTTPHeaders) -> HTTPAnswer {
        HTTPAnswer(status, text: why + "\n")
    }

    func close() async {}
}
