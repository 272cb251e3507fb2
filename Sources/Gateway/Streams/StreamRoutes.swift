import Accounts
import Crypto
import FoundationEssentials
import Foundations
import HTTPServing
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import NIOWebSocket
import WireProtocol

/// The routes that keep their connection open: the line protocol over WebSocket, and live sync as server-sent events.
enum StreamRoutes {
    static let webSocketPath = "/v1/line"

    /// The subprotocol that a WebSocket may request.
    static let subprotocol = "postline.v1"

    static func all(_ configuration: Gateway.Configuration) -> [Route] {
        let maxLineBytes = configuration.maxLineBytes
        var webSocket = Route(.GET, webSocketPath) { context throws(ProtocolError) in
            try Self.webSocket(context, maxLineBytes)
        }
        let fields = ["cursor", "messages_per_conversation", "ticket"]
        var changes = Route(.GET, "/v1/changes", query: .fields(fields)) { context throws(ProtocolError) in
            try await eventStream(context)
        }
        webSocket.allowsHead = false
        changes.allowsHead = false
        // A ticket is valid once, so it is redeemed after the rest of the request is validated.
        changes.requiresUser = { $0.request.target["ticket"] == nil }
        var ticket = Route(.POST, "/v1/changes/ticket") { context throws(ProtocolError) in
            guard let token = try context.token else { throw .unauthenticatedRequest }
            if let name = try context.jsonObject().members.first?.name {
                throw .invalidField(name, "is unknown: /v1/changes/ticket takes no fields.")
            }
            let ticket = try await context.gateway.tickets.issue(for: token)
            return .json(["ticket": .string(ticket), "expires_in": .integer(StreamTickets.seconds)])
        }
        ticket.requiresUser = { _ in true }
        return [webSocket, changes, ticket]
    }

    private static func webSocket(_ context: RequestContext, _ maxLineBytes: Int) throws(ProtocolError) -> HTTPResponse
    {
        let headers = context.request.headers
        // RFC 9110, section 7.8: an upgrade of HTTP/1.0 is ignored.
        guard context.request.version == .http1_1,
            headers[canonicalForm: "Upgrade"].contains(where: { $0.lowercasedASCII == "websocket" }),
            headers[canonicalForm: "Connection"].contains(where: { $0.lowercasedASCII == "upgrade" }),
            context.request.header("Sec-WebSocket-Version") == "13"
        else {
            // RFC 9110, section 15.5.22, and RFC 6455, section 4.4.
            var response = ErrorFormat.protocol.response(
                for: ProtocolError(.invalidRequest, "This path is a WebSocket: send an upgrade request of version 13."))
            response.status = .upgradeRequired
            response.headers.add(name: "Upgrade", value: "websocket")
            response.headers.add(name: "Sec-WebSocket-Version", value: "13")
            return response
        }
        guard let key = context.request.header("Sec-WebSocket-Key"), Data(base64Encoded: key)?.count == 16 else {
            throw .invalidField("Sec-WebSocket-Key", "must be 16 bytes in Base64.")
        }
        let offered = headers[canonicalForm: "Sec-WebSocket-Protocol"]
        guard offered.isEmpty || offered.contains(Substring(subprotocol)) else {
            throw ProtocolError(.invalidRequest, "The only supported subprotocol is \(subprotocol).")
        }
        let magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        let accept = Data(Insecure.SHA1.hash(data: Data((key + magic).utf8))).base64EncodedString()
        var response = HTTPResponse(
            .switchingProtocols,
            ["Upgrade": "websocket", "Connection": "upgrade", "Sec-WebSocket-Accept": accept])
        if !offered.isEmpty { response.headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol) }
        let (lineServer, address) = (context.gateway.lineServer, context.clientAddress)
        response.upgrade = { channel, slot in
            slot.setForwardedAddress(address)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(WebSocketFrameEncoder())
            try pipeline.addHandler(ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: maxLineBytes)))
            try pipeline.addHandler(WebSocketFraming(maxMessageBytes: maxLineBytes))
            try lineServer.takeOver(channel, slot)
        }
        return response
    }

    private static func eventStream(_ context: RequestContext) async throws(ProtocolError) -> HTTPResponse {
        let query = context.request.target
        if query["ticket"] != nil, context.request.header("Authorization") != nil {
            throw .invalidField("ticket", "and an Authorization header exclude each other: send one of them.")
        }
        let count = try query["messages_per_conversation"].map { text throws(ProtocolError) in
            guard let count = Int(text), (0...100).contains(count) else {
                throw ProtocolError(
                    .invalidParams, "\"messages_per_conversation\" must be 0 to 100.",
                    data: [.init(name: "field", value: .string("messages_per_conversation"))])
            }
            return count
        }
        let (token, resumption) = try await context.streamCredentials()
        // Authenticates before the stream begins, so that an error has its HTTP status.
        try await context.handler.authenticate(token, context)
        var response = HTTPResponse(
            .ok,
            [
                "Content-Type": "text/event-stream", "Connection": "close",
                // Keeps nginx from buffering events.
                "X-Accel-Buffering": "no",
            ])
        let isChunked = context.request.version == .http1_1
        if isChunked { response.headers.add(name: "Transfer-Encoding", value: "chunked") }
        let last = context.request.header("Last-Event-ID") ?? query["cursor"]
        let stream = EventStreamFraming.Configuration(
            accessToken: token, cursor: last.map { StreamEventID($0).cursor }, messagesPerConversation: count,
            resumption: resumption)
        let (lineServer, address) = (context.gateway.lineServer, context.clientAddress)
        response.upgrade = { channel, slot in
            slot.setForwardedAddress(address)
            // Each event takes about a kilobyte besides its data until it is written.
            slot.writeBatchBytes = 1 << 14
            let pipeline = channel.pipeline.syncOperations
            if isChunked { try pipeline.addHandler(ChunkedContent()) }
            try pipeline.addHandler(EventStreamFraming(stream))
            try lineServer.takeOver(channel, slot)
        }
        return response
    }
}

extension RequestContext {
    /// Returns the access token that opens the stream: the request's, or that of its ticket with the stream's resumption
    /// key.
    ///
    /// - Throws: `unauthenticated` without a token or a ticket, or the error of redeeming the ticket.
    fileprivate func streamCredentials() async throws(ProtocolError) -> (token: String, resumption: String?) {
        if let token = try token { return (token, nil) }
        guard let ticket = request.target["ticket"] else { throw .unauthenticatedRequest }
        let last = request.header("Last-Event-ID").map { StreamEventID($0) }
        let entry = try await gateway.tickets.redeem(ticket, resumption: last?.resumption, from: clientAddress)
        return (entry.accessToken, entry.resumption)
    }
}
