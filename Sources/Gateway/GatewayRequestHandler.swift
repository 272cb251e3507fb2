import Concurrency
import Foundations
import HTTPServing
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import WireProtocol

/// Handles the requests of one HTTP connection.
///
/// The session of an access token is cached while the connection keeps sending the same token. The token is verified once,
/// and the session's end is noticed as on the line port.
actor GatewayRequestHandler: HTTPRequestHandler {
    nonisolated let gateway: Gateway
    private nonisolated let executor: LoopExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The executor lives as long as the actor.
        unsafe executor.asUnownedSerialExecutor()
    }

    private struct AuthenticatedSession {
        let token: String
        let address: String
        let session: any LineSession
        let sink: RequestSink

        /// Returns true if the session has not ended and is of a client at that address.
        func isValid(at address: String) -> Bool { self.address == address && !sink.hasEnded }
    }

    private var cachedSession: AuthenticatedSession?

    init(_ gateway: Gateway, on executor: LoopExecutor) {
        self.gateway = gateway
        self.executor = executor
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        let start = ContinuousClock.now
        let (route, response) = await dispatch(request)
        gateway.metrics.recordRequest(route, response.status.code, took: .now - start)
        return response
    }

    /// Counts a request against the limits of its user, or of its address before the connection has verified the token.
    func admit(_ head: HTTPRequestHead, bytes: Int, from peerAddress: String, canWait: Bool) async -> HTTPResponse? {
        let address = gateway.configuration.trustedProxies.clientAddress(from: peerAddress, head.headers)
        let authorization = head.headers.first(name: "Authorization") ?? ""
        do throws(ProtocolError) {
            if let cachedSession, cachedSession.isValid(at: address),
                authorization.utf8.reversed().starts(with: cachedSession.token.utf8.reversed())
            {
                try await cachedSession.session.admitRequest(bytes: bytes, canWait: canWait)
            } else {
                try await gateway.sessions.admitRequest(peerAddress: address, bytes: bytes, canWait: canWait)
            }
            return nil
        } catch {
            let segments = RequestTarget(head.uri)?.segments ?? []
            let format = gateway.routes.match(head.method, segments)?.errorFormat ?? .protocol
            gateway.metrics.recordRequest("none", UInt(error.code.httpStatus), took: .zero)
            return CORSPolicy(head.headers, gateway.configuration).addingHeaders(to: format.response(for: error))
        }
    }

    nonisolated func errorResponse(for error: HTTPError, headers: HTTPHeaders) -> HTTPResponse {
        let status = error.status
        let code: ErrorCode =
            switch status {
            case .payloadTooLarge, .requestHeaderFieldsTooLarge: .lineTooLong
            case .serviceUnavailable: .unavailable
            case .requestTimeout: .timeout
            case .internalServerError: .internalError
            case .forbidden: .forbidden
            default: .invalidRequest
            }
        let protocolError = error.field.map { .invalidField($0, error.message) } ?? ProtocolError(code, error.message)
        var response = ErrorFormat.protocol.response(for: protocolError)
        response.status = status
        gateway.metrics.recordRequest("none", status.code, took: .zero)
        return CORSPolicy(headers, gateway.configuration).addingHeaders(to: response)
    }

    nonisolated func bodyReceiver(
        for head: HTTPRequestHead, from peerAddress: String
    ) throws(HTTPError) -> (any HTTPBodyReceiver)? {
        guard let store = gateway.configuration.pictures else { return nil }
        let address = gateway.configuration.trustedProxies.clientAddress(from: peerAddress, head.headers)
        return try MediaRoutes.receiver(of: head, from: AddressKey(address), by: store)
    }

    func close() async {
        let session = cachedSession?.session
        cachedSession = nil
        await session?.close()
    }

    /// Returns the response to a request, and the template of its route for metrics.
    private func dispatch(_ request: HTTPRequest) async -> (route: String, HTTPResponse) {
        let cors = CORSPolicy(request.headers, gateway.configuration)
        let clientAddress = gateway.configuration.trustedProxies.clientAddress(
            from: request.peerAddress, request.headers)
        let match = request.target.isServerWide ? nil : gateway.routes.match(request.method, request.target.segments)
        if request.target.isServerWide {
            let response = HTTPResponse(.noContent, ["Allow": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"])
            return ("options", cors.addingHeaders(to: response))
        }
        guard let match else {
            let response = ErrorFormat.protocol.response(for: .pathNotFound(request.target.segments))
            return ("none", cors.addingHeaders(to: response))
        }
        let allowed = match.allowed.map(\.rawValue).joined(separator: ", ")
        if request.method == .OPTIONS {
            let response = HTTPResponse(.noContent, ["Allow": allowed])
            return ("options", cors.addingHeaders(to: response, allowing: match.allowed))
        }
        guard let route = match.route else {
            let isMethod = match.allowed.contains(.POST)
            let error = ProtocolError(
                .invalidRequest,
                "This path allows \(allowed)" + (isMethod ? ": params go into the body, as a JSON object." : "."))
            var response = match.errorFormat.response(for: error)
            response.status = .methodNotAllowed
            response.headers.add(name: "Allow", value: allowed)
            return ("none", cors.addingHeaders(to: response))
        }
        let context = RequestContext(
            request: request, pathParameters: match.pathParameters, handler: self, clientAddress: clientAddress)
        do throws(ProtocolError) {
            try request.requireSingleFields()
            try cors.check(route)
            return (route.template, cors.addingHeaders(to: try await route.respond(to: context)))
        } catch {
            return (route.template, cors.addingHeaders(to: route.errorFormat.response(for: error)))
        }
    }
}

extension GatewayRequestHandler {
    /// Calls a method in the session of the request's access token, and returns the result as JSON.
    func call(_ request: Request, for context: RequestContext) async throws(ProtocolError) -> ByteBuffer {
        try await withSession(for: context, allowsAnonymous: request.isForAnyone) { session throws(ProtocolError) in
            switch await session.answer(request, context.request.id).content {
            case .result(let json): return json
            case .failure(let error): throw error.code == .unauthenticated ? .unauthenticatedRequest : error
            }
        }
    }

    /// Runs the body in the session of the request's access token, or in a new anonymous session.
    ///
    /// - Parameter allowsAnonymous: true to use an anonymous session and ignore the token, which may have expired.
    func withSession<Value: Sendable>(
        for context: RequestContext, allowsAnonymous: Bool,
        _ body: (any LineSession) async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        guard !allowsAnonymous, let token = try context.token else {
            let session = makeSession(RequestSink(on: executor), context)
            do throws(ProtocolError) {
                let value = try await body(session)
                await session.close()
                return value
            } catch {
                await session.close()
                throw error
            }
        }
        return try await body(try await authenticatedSession(for: token, context))
    }

    /// Verifies an access token.
    ///
    /// - Throws: the errors of `session.authenticate`.
    func authenticate(_ token: String, _ context: RequestContext) async throws(ProtocolError) {
        _ = try await authenticatedSession(for: token, context)
    }

    private func makeSession(_ sink: RequestSink, _ context: RequestContext) -> any LineSession {
        gateway.sessions.makeSession(sink: sink, peerAddress: context.clientAddress)
    }

    /// Returns the cached session if it is still valid for the token, or authenticates a new one.
    private func authenticatedSession(
        for token: String, _ context: RequestContext
    ) async throws(ProtocolError) -> any LineSession {
        if let cachedSession, cachedSession.token == token, cachedSession.isValid(at: context.clientAddress) {
            return cachedSession.session
        }
        if let session = cachedSession?.session { await session.close() }
        cachedSession = nil
        let sink = RequestSink(on: executor)
        let session = makeSession(sink, context)
        let authenticate = Request(method: "session.authenticate", params: ["access_token": .string(token)])
        if case .failure(let error) = await session.answer(authenticate, context.request.id).content {
            await session.close()
            throw error
        }
        cachedSession = AuthenticatedSession(token: token, address: context.clientAddress, session: session, sink: sink)
        // The address was counted before; now that the user is known, it counts too.
        try await session.admitRequest(bytes: 0, canWait: true)
        return session
    }
}

extension ProtocolError {
    static let unauthenticatedRequest = ProtocolError(
        .unauthenticated, "Send an access token: \"Authorization: Bearer …\". POST /v1/auth.login returns one.")

    /// Returns the error for a path without a route. It suggests the intended path if it can be guessed.
    fileprivate static func pathNotFound(_ segments: [String]) -> ProtocolError {
        if segments.count > 2, segments[0] == "v1" {
            let method = segments.dropFirst().joined(separator: ".")
            if Request(method: method, params: [:]).isKnown {
                return ProtocolError(.notFound, "Unknown path: did you mean /v1/\(method)?")
            }
        }
        if segments.count == 1, ["healthz", "readyz", "metrics"].contains(segments[0]) {
            return ProtocolError(.notFound, "/\(segments[0]) is on the operations port (POSTLINE_OPERATIONS_PORT).")
        }
        return ProtocolError(.notFound, "Unknown path. GET /v1/openapi.json lists all paths.")
    }
}
