import FoundationEssentials
import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// What is answered at one path to one method of HTTP.
struct Route: Sendable {
    let method: HTTPMethod

    /// The path, such as `/v1/{method}`: a name in braces takes any one segment. It stands for the path in figures.
    let template: String

    /// Whether HEAD is answered where GET is: not where the answer goes on.
    var answersHead = true

    /// Returns whether a request is authenticated before anything else of it is checked.
    var needsUser: @Sendable (Exchange) -> Bool = { _ in false }

    /// Returns whether a request may have an `Idempotency-Key`. Elsewhere a key is refused, since it would not prevent a
    /// repetition.
    var takesKey: @Sendable (Exchange) -> Bool = { _ in false }

    /// The fields that its query may have.
    let query: Query

    /// True if a request may have a body.
    var takesBody: Bool

    /// True if its requests are done in a session, which counts them.
    var usesSession = true

    /// How its errors are written.
    let style: ErrorStyle
    private let perform: @Sendable (Exchange) async throws(ProtocolError) -> HTTPAnswer

    enum Query: Sendable {
        /// Fields of these names; any other is refused.
        case fields([String])

        /// Any field: the route checks them itself, or serves a page, whose addresses get fields from elsewhere.
        case any
    }

    /// The methods that it takes.
    var methods: [HTTPMethod] { method == .GET && answersHead ? [.GET, .HEAD] : [method] }

    init(
        _ method: HTTPMethod, _ template: String, query: Query = .fields([]), style: ErrorStyle = .protocol,
        perform: @escaping @Sendable (Exchange) async throws(ProtocolError) -> HTTPAnswer
    ) {
        self.method = method
        self.template = template
        self.query = query
        self.style = style
        self.perform = perform
        takesBody = method != .GET
    }

    /// Answers a request that has nothing which would be ignored.
    ///
    /// - Throws: `invalid_params` for a key or a query field that the route does not take, `invalid_request` for a body;
    ///   else what the route throws.
    func answer(_ exchange: Exchange) async throws(ProtocolError) -> HTTPAnswer {
        if needsUser(exchange) { try await exchange.requireUser() }
        if !takesKey(exchange) { try exchange.requireNoKey(exchange.captures["method"] ?? name) }
        if case .fields(let names) = query { try requireFields(of: exchange.request.target, among: names) }
        if !takesBody, exchange.request.body.readableBytes > 0 {
            throw ProtocolError(.invalidRequest, "\(name) takes no body.")
        }
        return try await perform(exchange)
    }

    /// The method and the path, as errors name the route.
    private var name: String { "\(method.rawValue) \(template)" }

    private func requireFields(of target: RequestTarget, among names: [String]) throws(ProtocolError) {
        guard let field = target.query.first(where: { !names.contains($0.name) })?.name else { return }
        if !names.isEmpty { throw .unknownField(String(field.prefix(60)), named: field, of: template, among: names) }
        let way = takesBody ? "params go into the body, as a JSON object." : "\(name) takes no query."
        throw .refused(field, "stands in the URL: \(way)")
    }
}

/// How an error is written over HTTP.
struct ErrorStyle: Sendable {
    /// The body; its status and headers are the same in all.
    let body: @Sendable (ProtocolError) -> ByteBuffer

    /// The error object of `docs/protocol.md`, section 2.
    static let `protocol` = ErrorStyle { error in
        var body = ByteBuffer()
        body.writeError(error)
        return body
    }

    /// An error with its status, and the headers that go with that.
    func answer(_ error: ProtocolError) -> HTTPAnswer {
        var answer = HTTPAnswer(.init(statusCode: error.code.httpStatus), body: body(error))
        answer.headers.add(name: "Content-Type", value: "application/json")
        switch error.code.httpStatus {
        case 401: answer.headers.add(name: "WWW-Authenticate", value: "Bearer realm=\"postline\"")
        case 429, 503: answer.headers.add(name: "Retry-After", value: error.retryAfter.map(String.init) ?? "1")
        default: break
        }
        return answer
    }
}

extension ProtocolError {
    /// After how many seconds to try again, where it says so.
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
    /// What a path has.
    struct Match {
        /// Its route; nil: there is none of that method.
        let route: Route?
        let captures: [String: String]

        /// The methods that it takes.
        let allowed: [HTTPMethod]

        /// How its errors are written.
        let style: ErrorStyle
    }

    private enum Segment: Sendable {
        case text(String)
        case capture(String)
    }

    private let entries: [(segments: [Segment], route: Route)]

    init(_ routes: [Route]) {
        entries = routes.map { route in
            let segments = route.template.split(separator: "/").map { part in
                part.hasPrefix("{") ? Segment.capture(String(part.dropFirst().dropLast())) : .text(String(part))
            }
            return (segments, route)
        }
    }

    /// - Returns: nil where nothing is at that path. A route whose path is spelt out goes before one that captures.
    func match(_ method: HTTPMethod, _ path: [String]) -> Match? {
        var found: [(captures: [String: String], route: Route)] = []
        for entry in entries {
            if let captures = Self.captures(entry.segments, path) { found.append((captures, entry.route)) }
        }
        guard let least = found.map(\.captures.count).min() else { return nil }
        let closest = found.filter { $0.captures.count == least }
        let match = closest.first { $0.route.methods.contains(method) }
        return Match(
            route: match?.route, captures: match?.captures ?? [:],
            allowed: closest.flatMap(\.route.methods) + [.OPTIONS], style: closest[0].route.style)
    }

    private static func captures(_ segments: [Segment], _ path: [String]) -> [String: String]? {
        guard segments.count == path.count else { return nil }
        var captures: [String: String] = [:]
        for (segment, part) in zip(segments, path) {
            switch segment {
            case .text(let text): if text != part { return nil }
            case .capture(let name): captures[name] = part
            }
        }
        return captures
    }
}
