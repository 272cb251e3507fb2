import Messaging
import NIOHTTP1

/// What a browser is told of a page that is not this server's own (CORS: the Fetch standard, section 3.2).
///
/// Tokens do not go by themselves as cookies do, so that no page can do anything in the name of whoever visits it. That
/// other pages cannot use the server at all is what an operator expects who has named none.
struct CrossOrigin {
    private enum Standing {
        /// No page asks, or one of this server's.
        case own
        case allowed(String)
        case other
    }

    private let standing: Standing
    private let requestsHeaders: String?

    /// - Parameter headers: the request's.
    init(_ headers: HTTPHeaders, _ configuration: Gateway.Configuration) {
        requestsHeaders = headers.first(name: "Access-Control-Request-Headers")
        guard let origin = headers.first(name: "Origin") else {
            standing = .own
            return
        }
        let place = origin.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        if configuration.origins.contains("*") || configuration.origins.contains(origin) {
            standing = .allowed(origin)
        } else if place.count == 3, headers.first(name: "Host").map({ $0 == place[2] }) == true {
            standing = .own
        } else {
            standing = .other
        }
    }

    /// - Throws: `forbidden` where another page opens what a browser lets any page open: a WebSocket.
    func check(_ route: Route) throws(ProtocolError) {
        guard route.template == StreamRoutes.line, case .other = standing else { return }
        throw ProtocolError(
            .forbidden, "Pages of this origin may not connect: POSTLINE_HTTP_ORIGINS names those that may.")
    }

    /// The answer with what every answer has.
    ///
    /// - Parameter methods: what a preflight allows.
    func completed(_ answer: HTTPAnswer, allowing methods: [HTTPMethod]? = nil) -> HTTPAnswer {
        var answer = answer
        answer.headers.replaceOrAdd(name: "X-Content-Type-Options", value: "nosniff")
        if !answer.headers.contains(name: "Cache-Control") {
            answer.headers.add(name: "Cache-Control", value: "no-store")
        }
        guard case .allowed(let origin) = standing else { return answer }
        answer.headers.add(name: "Access-Control-Allow-Origin", value: origin)
        answer.headers.add(name: "Access-Control-Expose-Headers", value: "Retry-After")
        answer.headers.add(name: "Vary", value: "Origin")
        if let methods {
            answer.headers.add(
                name: "Access-Control-Allow-Methods", value: methods.map(\.rawValue).joined(separator: ", "))
            answer.headers.add(name: "Access-Control-Max-Age", value: "7200")
            if requestsHeaders != nil {
                answer.headers.add(
                    name: "Access-Control-Allow-Headers",
                    value: "Authorization, Content-Type, Idempotency-Key, Last-Event-ID")
            }
        }
        return answer
    }
}
