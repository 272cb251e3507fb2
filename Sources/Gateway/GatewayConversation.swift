internal import EventLoops
import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// What answers the requests of one HTTP connection.
///
/// The session of a bearer is kept for as long as its connection goes on asking with the same token: the token is looked
/// up once, and its end is noticed as on a line.
actor GatewayConversation: HTTPConversation {
    nonisolated let gateway: Gateway
    private nonisolated let executor: LoopExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The executor lives as long as this does.
        unsafe executor.asUnownedSerialExecutor()
    }

    private struct Bearer {
        let token: String
        let address: String
        let session: any LineSession
        let sink: RequestSink
    }

    private var bearer: Bearer?

    init(_ gateway: Gateway, on executor: LoopExecutor) {
        self.gateway = gateway
        self.executor = executor
    }

    func answer(_ request: HTTPRequest) async -> HTTPAnswer {
        let start = ContinuousClock.now
        let (route, answer) = await routed(request)
        gateway.metrics.answered(route, answer.status.code, after: .now - start)
        return answer
    }

    nonisolated func answer(_ refusal: HTTPRefusal, of headers: HTTPHeaders) -> HTTPAnswer {
        let status = refusal.status
        let code: ErrorCode =
            switch status {
            case .payloadTooLarge, .requestHeaderFieldsTooLarge: .lineTooLong
            case .serviceUnavailable: .unavailable
            case .requestTimeout: .timeout
            case .internalServerError: .internalError
            case .forbidden: .forbidden
            default: .invalidRequest
            }
        let error = refusal.field.map { .refused($0, refusal.why) } ?? ProtocolError(code, refusal.why)
        var answer = ErrorStyle.protocol.answer(error)
        answer.status = status
        gateway.metrics.answered("none", status.code, after: .zero)
        return CrossOrigin(headers, gateway.configuration).completed(answer)
    }

    nonisolated func receiver(
        of head: HTTPRequestHead, from peerAddress: String
    ) throws(HTTPRefusal) -> (any HTTPBodyReceiver)? {
        guard let store = gateway.configuration.pictures else { return nil }
        let address = gateway.configuration.trustedProxies.client(from: peerAddress, head.headers)
        return try MediaRoutes.receiver(of: head, from: AddressKey(address), by: store)
    }

    func close() async {
        let session = bearer?.session
        bearer = nil
        await session?.close()
    }

    private func routed(_ request: HTTPRequest) async -> (route: String, HTTPAnswer) {
        let cross = CrossOrigin(request.headers, gateway.configuration)
        let clientAddress = gateway.configuration.trustedProxies.client(from: request.peerAddress, request.headers)
        let match = request.target.isServerWide ? nil : gateway.routes.match(request.method, request.target.segments)
        if match?.route?.usesSession != true {
            await gateway.sessions.countRequest(peerAddress: clientAddress)
        }
        if request.target.isServerWide {
            let answer = HTTPAnswer(.noContent, ["Allow": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"])
            return ("options", cross.completed(answer))
        }
        guard let match else {
            return ("none", cross.completed(ErrorStyle.protocol.answer(.noPath(request.target.segments))))
        }
        let allowed = match.allowed.map(\.rawValue).joined(separator: ", ")
        if request.method == .OPTIONS {
            return ("options", cross.completed(HTTPAnswer(.noContent, ["Allow": allowed]), allowing: match.allowed))
        }
        guard let route = match.route else {
            let isMethod = match.allowed.contains(.POST)
            let error = ProtocolError(
                .invalidRequest,
                "This path takes \(allowed)" + (isMethod ? ": params go into the body, as a JSON object." : "."))
            var answer = match.style.answer(error)
            answer.status = .methodNotAllowed
            answer.headers.add(name: "Allow", value: allowed)
            return ("none", cross.completed(answer))
        }
        let exchange = Exchange(
            request: request, captures: match.captures, conversation: self,
            clientAddress: clientAddress)
        do throws(ProtocolError) {
            try request.requireSingleFields()
            try cross.check(route)
            return (route.template, cross.completed(try await route.answer(exchange)))
        } catch {
            return (route.template, cross.completed(route.style.answer(error)))
        }
    }
}

extension GatewayConversation {
    /// Does what a request asks, in the session of the request's bearer.
    func call(_ request: Request, for exchange: Exchange) async throws(ProtocolError) -> ByteBuffer {
        try await inSession(of: exchange, forAnyone: request.isForAnyone) { session throws(ProtocolError) in
            switch await session.answer(request, exchange.request.id).content {
            case .result(let json): return json
            case .failure(let error): throw error.code == .unauthenticated ? .unauthenticatedRequest : error
            }
        }
    }

    /// Does something in the session of the request's bearer, or in one of nobody's.
    ///
    /// - Parameter forAnyone: whether nobody needs to be signed in for it: a token that comes along, which may be over, is
    ///   no matter then.
    func inSession<Value: Sendable>(
        of exchange: Exchange, forAnyone: Bool,
        _ body: (any LineSession) async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        guard !forAnyone, let token = try exchange.token else {
            let session = makeSession(RequestSink(on: executor), exchange)
            do throws(ProtocolError) {
                let value = try await body(session)
                await session.close()
                return value
            } catch {
                await session.close()
                throw error
            }
        }
        let bearer = try await bearer(of: token, exchange)
        return try await body(bearer.session)
    }

    /// Sees to it that the bearer of a token has a session.
    ///
    /// - Throws: as `session.authenticate` does.
    func requireSession(of token: String, _ exchange: Exchange) async throws(ProtocolError) {
        _ = try await bearer(of: token, exchange)
    }

    private func makeSession(_ sink: RequestSink, _ exchange: Exchange) -> any LineSession {
        gateway.sessions.makeSession(sink: sink, peerAddress: exchange.clientAddress)
    }

    private func bearer(of token: String, _ exchange: Exchange) async throws(ProtocolError) -> Bearer {
        if let bearer, bearer.token == token, bearer.address == exchange.clientAddress, !bearer.sink.isOver {
            return bearer
        }
        if let session = bearer?.session { await session.close() }
        bearer = nil
        let sink = RequestSink(on: executor)
        let session = makeSession(sink, exchange)
        let authenticate = Request(method: "session.authenticate", params: ["access_token": .string(token)])
        if case .failure(let error) = await session.answer(authenticate, exchange.request.id).content {
            await session.close()
            throw error
        }
        let bearer = Bearer(token: token, address: exchange.clientAddress, session: session, sink: sink)
        self.bearer = bearer
        return bearer
    }
}

extension ProtocolError {
    static let unauthenticatedRequest = ProtocolError(
        .unauthenticated, "Send an access token: \"Authorization: Bearer …\". POST /v1/auth.login gives one.")

    /// There is nothing at a path; what was meant, where that is plain.
    fileprivate static func noPath(_ segments: [String]) -> ProtocolError {
        if segments.count > 2, segments[0] == "v1" {
            let method = segments.dropFirst().joined(separator: ".")
            if Request(method: method, params: [:]).isKnown {
                return ProtocolError(.notFound, "Nothing is at this path: did you mean /v1/\(method)?")
            }
        }
        if segments.count == 1, ["healthz", "readyz", "metrics"].contains(segments[0]) {
            return ProtocolError(.notFound, "/\(segments[0]) is on the operations port (POSTLINE_OPERATIONS_PORT).")
        }
        return ProtocolError(.notFound, "Nothing is at this path: GET /v1/openapi.json tells what there is.")
    }
}
