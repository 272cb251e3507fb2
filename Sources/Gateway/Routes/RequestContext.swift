import Foundations
import HTTPServing
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import WireProtocol

/// One request with its path parameters and its client, and access to the session that handles it.
struct RequestContext: Sendable {
    let request: HTTPRequest

    /// The path segments that the route's template captures, by name.
    let pathParameters: [String: String]
    let handler: GatewayRequestHandler

    /// The client's address, the key of rate limits.
    let clientAddress: String

    /// True if methods are called as compatibility endpoints call them (``Request/isCompatible``).
    var isCompatible = false

    var gateway: Gateway { handler.gateway }

    /// The access token; nil if the request has none.
    ///
    /// - Throws: `invalid_token` for another kind of authorization.
    var token: String? {
        get throws(ProtocolError) {
            guard let value = request.header("Authorization") else { return nil }
            let parts = value.split(separator: " ", omittingEmptySubsequences: true)
            guard parts.count == 2, parts[0].lowercasedASCII == "bearer", parts[1].isBearerToken else {
                throw ProtocolError(.invalidToken, "Authorization must be \"Bearer\" and an access token.")
            }
            return String(parts[1])
        }
    }

    /// Verifies the access token, before the rest of the request is validated.
    ///
    /// - Throws: `unauthenticated` without a token, or the errors of `session.authenticate`.
    func authenticate() async throws(ProtocolError) {
        guard let token = try token else { throw .unauthenticatedRequest }
        try await handler.authenticate(token, self)
    }

    /// Calls a method as the token's user, and returns the result as JSON.
    func call(_ method: String, _ params: JSONObject) async throws(ProtocolError) -> ByteBuffer {
        var request = Request(method: method, params: params)
        request.isCompatible = isCompatible
        return try await handler.call(request, for: self)
    }

    /// Parses the body as a JSON object. An empty body is an empty object.
    ///
    /// - Throws: `parse_error`, `invalid_utf8` or `invalid_request`.
    func jsonObject() throws(ProtocolError) -> JSONObject {
        guard request.body.readableBytes > 0 else { return [:] }
        let json: JSON
        do {
            json = try JSON(parsingRequest: request.body)
        } catch {
            let error = ProtocolError(error, in: "body")
            guard request.header("Content-Type")?.contains("form") == true else { throw error }
            throw ProtocolError(error.code, "\(error.message) Send JSON, not a form: {\"full_name\": \"Alice\"}.")
        }
        guard !json.hasLongCombiningRun else { throw .longCombiningRun(in: json) }
        guard case .object(let object) = json else {
            throw ProtocolError(.invalidRequest, "The body must be a JSON object: the method's params.")
        }
        return object
    }
}

extension Substring {
    /// True if the text is a `b64token` (RFC 6750, section 2.1), which allows equals signs only at its end.
    fileprivate var isBearerToken: Bool {
        let characters = utf8.prefix { byte in
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"),
                UInt8(ascii: "/"):
                true
            default: byte.isDigit || byte.isLetter
            }
        }
        return !characters.isEmpty && utf8[characters.endIndex...].allSatisfy { $0 == UInt8(ascii: "=") }
    }
}

extension HTTPHeaders {
    /// The fields that the gateway reads as a single value.
    private static let single = [
        "Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Origin", "Sec-WebSocket-Key",
        "Sec-WebSocket-Version",
    ]

    /// The name of a single-value field that has several different values; nil if there is none.
    var repeatedField: String? {
        Self.single.first { name in
            let values = self[name]
            return values.contains { $0 != values[0] }
        }
    }
}

extension HTTPRequest {
    /// Rejects repeated query fields and single-value headers with different values, since one value would be ignored.
    ///
    /// - Throws: `invalid_params`.
    func requireSingleFields() throws(ProtocolError) {
        if let name = target.repeatedField {
            throw .invalidField(name, "is repeated in the query: send it once.")
        }
        if let name = headers.repeatedField {
            throw .invalidField(name, "has several values: send one.")
        }
    }
}

extension HTTPResponse {
    /// Returns a response with status 200 and a JSON body.
    static func json(_ body: ByteBuffer) -> HTTPResponse {
        HTTPResponse(.ok, ["Content-Type": "application/json"], body: body)
    }

    static func json(_ object: JSONObject) -> HTTPResponse {
        var body = ByteBuffer()
        object.write(to: &body)
        return .json(body)
    }
}
