import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// One request, and what can be done for it.
struct Exchange: Sendable {
    let request: HTTPRequest

    /// What stood in the path's braces.
    let captures: [String: String]
    let conversation: GatewayConversation

    /// Where the client is: what limits count by.
    let clientAddress: String

    /// True if methods are called as compatibility endpoints call them (``Request/isCompatible``).
    var isCompatible = false

    var gateway: Gateway { conversation.gateway }

    /// The bearer's token; nil where the request has none.
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

    /// Authenticates the bearer of the token, before anything else of the request is looked at.
    ///
    /// - Throws: `unauthenticated` without a token, else as `session.authenticate` does.
    func requireUser() async throws(ProtocolError) {
        guard let token = try token else { throw .unauthenticatedRequest }
        try await conversation.requireSession(of: token, self)
    }

    /// Does what a method does, as the bearer of the token.
    ///
    /// - Returns: its result as JSON.
    func call(_ method: String, _ params: JSONObject) async throws(ProtocolError) -> ByteBuffer {
        var request = Request(method: method, params: params)
        request.isCompatible = isCompatible
        return try await conversation.call(request, for: self)
    }

    /// The body as a JSON object; an empty one is one without members.
    ///
    /// - Throws: `parse_error`, `invalid_utf8` or `invalid_request`.
    func jsonObject() throws(ProtocolError) -> JSONObject {
        guard request.body.readableBytes > 0 else { return [:] }
        let json: JSON
        do {
            json = try JSON(parsing: request.body)
        } catch {
            let error = ProtocolError(error, in: "body")
            guard request.header("Content-Type")?.contains("form") == true else { throw error }
            throw ProtocolError(error.code, "\(error.message) Send JSON, not a form: {\"full_name\": \"Alice\"}.")
        }
        guard !json.hasLongCombiningRun else { throw .longCombiningRun }
        guard case .object(let object) = json else {
            throw ProtocolError(.invalidRequest, "The body must be a JSON object: the method's params.")
        }
        return object
    }
}

extension Substring {
    /// True if it is a `b64token` (RFC 6750, section 2.1): equals signs stand at the end alone.
    fileprivate var isBearerToken: Bool {
        let characters = utf8.prefix { byte in
            byte.isDigit || byte.isLetter || "-._~+/".utf8.contains(byte)
        }
        return !characters.isEmpty && utf8[characters.endIndex...].allSatisfy { $0 == UInt8(ascii: "=") }
    }
}

extension HTTPHeaders {
    /// The fields that are read as one value.
    private static let single = [
        "Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Origin", "Sec-WebSocket-Key",
        "Sec-WebSocket-Version",
    ]

    /// The name of a field that is read as one value and that has several; nil where there is none.
    var repeatedField: String? {
        Self.single.first { name in
            let values = self[name]
            return values.contains { $0 != values[0] }
        }
    }
}

extension HTTPRequest {
    /// - Throws: `invalid_params` where the query has a field twice, or the head one with two values: one of them would
    ///   be ignored.
    func requireSingleFields() throws(ProtocolError) {
        if let name = target.repeatedField {
            throw .refused(name, "stands in the query more than once: give it once.")
        }
        if let name = headers.repeatedField {
            throw .refused(name, "has several values: send one.")
        }
    }
}

extension HTTPAnswer {
    /// JSON, and all is well.
    static func json(_ body: ByteBuffer) -> HTTPAnswer {
        HTTPAnswer(.ok, ["Content-Type": "application/json"], body: body)
    }

    static func json(_ object: JSONObject) -> HTTPAnswer {
        var body = ByteBuffer()
        object.write(to: &body)
        return .json(body)
    }
}
