import HTTPServing
import NIOHTTP1
import WireProtocol

/// The cross-origin policy for one request (CORS: the Fetch standard, section 3.2).
///
/// Browsers do not attach tokens by themselves as they do cookies, so a page cannot act for its visitor. By default pages
/// of other origins cannot use the server at all.
struct CORSPolicy {
    private enum Origin {
        /// The request comes from no page, or from a page of this server.
        case same
        case allowed(String)
        case denied
    }

    private let origin: Origin
    private let requestedHeaders: String?

    /// - Parameter headers: the request's headers.
    init(_ headers: HTTPHeaders, _ configuration: Gateway.Configuration) {
        requestedHeaders = headers.first(name: "Access-Control-Request-Headers")
        guard let text = headers.first(name: "Origin") else {
            origin = .same
            return
        }
        let parts = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        if configuration.origins.contains("*") || configuration.origins.contains(text) {
            origin = .allowed(text)
        } else if parts.count == 3, headers.first(name: "Host").map({ $0 == parts[2] }) == true {
            origin = .same
        } else {
            origin = .denied
        }
    }

    /// Rejects a WebSocket from a page of another origin, since browsers do not apply CORS to WebSockets.
    ///
    /// - Throws: `forbidden`.
    func check(_ route: Route) throws(ProtocolError) {
        guard route.template == StreamRoutes.webSocketPath, case .denied = origin else { return }
        throw ProtocolError(
            .forbidden, "Pages of this origin may not connect. POSTLINE_HTTP_ORIGINS lists the allowed origins.")
    }

    /// Returns the response with the headers of every response and of CORS.
    ///
    /// - Parameter methods: the methods that a preflight request allows.
    func addingHeaders(to response: HTTPResponse, allowing methods: [HTTPMethod]? = nil) -> HTTPResponse {
        var response = response
        response.headers.replaceOrAdd(name: "X-Content-Type-Options", value: "nosniff")
        if !response.headers.contains(name: "Cache-Control") {
            response.headers.add(name: "Cache-Control", value: "no-store")
        }
        // Also without an origin, as of an image element, so that a cache does not show a page that response.
        response.headers.add(name: "Vary", value: "Origin")
        guard case .allowed(let allowedOrigin) = origin else { return response }
        response.headers.add(name: "Access-Control-Allow-Origin", value: allowedOrigin)
        response.headers.add(
            name: "Access-Control-Expose-Headers",
            value: "Accept-Ranges, Content-Range, ETag, Retry-After, Upload-Complete, Upload-Length, Upload-Offset")
        if let methods {
            response.headers.add(
                name: "Access-Control-Allow-Methods", value: methods.map(\.rawValue).joined(separator: ", "))
            response.headers.add(name: "Access-Control-Max-Age", value: "7200")
            if requestedHeaders != nil {
                response.headers.add(
                    name: "Access-Control-Allow-Headers",
                    value: "Authorization, Content-Range, Content-Type, Idempotency-Key, Last-Event-ID, Range")
            }
        }
        return response
    }
}
