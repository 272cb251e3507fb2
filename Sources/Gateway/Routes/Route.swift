import FoundationEssentials
import Foundations
import HTTPServing
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import WireProtocol

/// A path and an HTTP method, with the handler of their requests.
struct Route: Sendable {
    let method: HTTPMethod

    /// The path, such as `/v1/{method}`. A name in braces matches any single segment. Metrics use it as the route's label.
    let template: String

    /// True if a GET route also responds to HEAD. Streams do not.
    var allowsHead = true

    /// Returns true if the request is authenticated before anything else of it is validated.
    var requiresUser: @Sendable (RequestContext) -> Bool = { _ in false }

    /// Returns true if the request may have an `Idempotency-Key`. Other routes reject the key, since they would not prevent
    /// a repetition.
    var acceptsIdempotencyKey: @Sendable (RequestContext) -> Bool = { _ in false }

    /// The query fields that a request may have.
    let query: Query

    /// True if a request may have a body.
    var acceptsBody: Bool

    /// The format of error bodies.
    let errorFormat: ErrorFormat
    private let perform: @Sendable (RequestContext) async throws(ProtocolError) -> HTTPResponse

    enum Query: Sendable {
        /// Fields of these names; others are rejected.
        case fields([String])

        /// Any field. The route validates them itself, or serves a page, whose URL may have unrelated fields.
        case any
    }

    /// The HTTP methods that the route responds to.
    var methods: [HTTPMethod] { method == .GET && allowsHead ? [.GET, .HEAD] : [method] }

    init(
        _ method: HTTPMethod, _ template: String, query: Query = .fields([]), errorFormat: ErrorFormat = .protocol,
        perform: @escaping @Sendable (RequestContext) async throws(ProtocolError) -> HTTPResponse
    ) {
        self.method = method
        self.template = template
        self.query = query
        self.errorFormat = errorFormat
        self.perform = perform
        acceptsBody = method != .GET
    }

    /// Returns the response to a request. Rejects everything in the request that the route would ignore.
    ///
    /// - Throws: `invalid_params` for an unexpected key or query field, `invalid_request` for an unexpected body, or the
    ///   route's error.
    func respond(to context: RequestContext) async throws(ProtocolError) -> HTTPResponse {
        if requiresUser(context) { try await context.authenticate() }
        if !acceptsIdempotencyKey(context) {
            try context.rejectIdempotencyKey(at: context.pathParameters["method"] ?? name)
        }
        if case .fields(let names) = query { try requireFields(of: context.request.target, among: names) }
        if !acceptsBody, context.request.body.readableBytes > 0 {
            throw ProtocolError(.invalidRequest, "\(name) allows no body.")
        }
        return try await perform(context)
    }

    /// The method and the path, for error messages.
    private var name: String { "\(method.rawValue) \(template)" }

    private func requireFields(of target: RequestTarget, among names: [String]) throws(ProtocolError) {
        guard let field = target.query.first(where: { !names.contains($0.name) })?.name else { return }
        if !names.isEmpty { throw .unknownField(String(field.prefix(60)), named: field, of: template, among: names) }
        let advice = acceptsBody ? "params go into the body, as a JSON object." : "\(name) allows no query."
        throw .invalidField(field, "is in the URL: \(advice)")
    }
}

/// A format of error bodies.
struct ErrorFormat: Sendable {
    /// Returns the body. Status and headers are the same in all formats.
    let body: @Sendable (ProtocolError) -> ByteBuffer

    /// The error object of `docs/protocol.md`, section 2.
    static let `protocol` = ErrorFormat { error in
        var body = ByteBuffer()
        body.writeError(error)
        return body
    }

    /// Returns the response to an error: its status, the headers that the status requires, and the body.
    func response(for error: ProtocolError) -> HTTPResponse {
        var response = HTTPResponse(.init(statusCode: error.code.httpStatus), body: body(error))
        response.headers.add(name: "Content-Type", value: "application/json")
        switch error.code.httpStatus {
        case 401: response.headers.add(name: "WWW-Authenticate", value: "Bearer realm=\"postline\"")
        case 429, 503: response.headers.add(name: "Retry-After", value: error.retryAfter.map(String.init) ?? "1")
        default: break
        }
        return response
    }
}

extension ProtocolError {
    /// The seconds after which to try again; nil if the error does not say.
    fileprivate var retryAfter: Int64? {
        for member in data {
            switch (member.name, member.value) {
            case ("retry_after", .number(let number)): return number.integer
            case ("retry_at", .string(let text)):
                let time = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text)
                return time.map { max(1, ($0.wholeSeconds - Date().wholeSeconds)) }
            default: continue
            }
        }
        return nil
    }
}

/// All routes, by path and method.
struct RouteTable: Sendable {
    /// The result of matching a path.
    struct Match {
        /// The route; nil if the path has no route for the method.
        let route: Route?
        let pathParameters: [String: String]

        /// The methods that the path allows.
        let allowed: [HTTPMethod]

        /// The format of the path's error bodies.
        let errorFormat: ErrorFormat
    }

    private enum Segment: Sendable {
        case text(String)
        case parameter(String)
    }

    private let entries: [(segments: [Segment], route: Route)]

    init(_ routes: [Route]) {
        entries = routes.map { route in
            let segments = route.template.split(separator: "/").map { part in
                part.hasPrefix("{") ? Segment.parameter(String(part.dropFirst().dropLast())) : .text(String(part))
            }
            return (segments, route)
        }
    }

    /// Returns the match for a path, or nil if no route has the path. Routes with fewer path parameters take precedence.
    func match(_ method: HTTPMethod, _ path: [String]) -> Match? {
        var found: [(parameters: [String: String], route: Route)] = []
        for entry in entries {
            if let parameters = Self.parameters(entry.segments, path) { found.append((parameters, entry.route)) }
        }
        guard let least = found.map(\.parameters.count).min() else { return nil }
        let closest = found.filter { $0.parameters.count == least }
        let match = closest.first { $0.route.methods.contains(method) }
        return Match(
            route: match?.route, pathParameters: match?.parameters ?? [:],
            allowed: closest.flatMap(\.route.methods) + [.OPTIONS], errorFormat: closest[0].route.errorFormat)
    }

    private static func parameters(_ segments: [Segment], _ path: [String]) -> [String: String]? {
        guard segments.count == path.count else { return nil }
        var parameters: [String: String] = [:]
        for (segment, part) in zip(segments, path) {
            switch segment {
            case .text(let text): if text != part { return nil }
            case .parameter(let name): parameters[name] = part
            }
        }
        return parameters
    }
}
