import Crypto
import FoundationEssentials
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The ways in that stay open: the line protocol over WebSocket, and live sync as server-sent events.
enum StreamRoutes {
    static let line = "/v1/line"

    /// The subprotocol that a WebSocket may ask for.
    static let subprotocol = "postline.v1"

    static func all(_ configuration: Gateway.Configuration) -> [Route] {
        let maxLineBytes = configuration.maxLineBytes
        var webSocket = Route(.GET, line) { exchange throws(ProtocolError) in try Self.webSocket(exchange, maxLineBytes)
        }
        let fields = ["cursor", "messages_per_conversation", "ticket"]
        var changes = Route(.GET, "/v1/changes", query: .fields(fields)) { exchange throws(ProtocolError) in
            try await eventStream(exchange)
        }
        webSocket.answersHead = false
        changes.answersHead = false
        // A ticket is redeemed after the rest was found good: it opens a stream once.
        changes.needsUser = { $0.request.target["ticket"] == nil }
        var ticket = Route(.POST, "/v1/changes/ticket") { exchange throws(ProtocolError) in
            guard let token = try exchange.token else { throw .unauthenticatedRequest }
            if let name = try exchange.jsonObject().members.first?.name {
                throw .refused(name, "is nothing that /v1/changes/ticket takes: it takes no fields.")
            }
            let ticket = try await exchange.gateway.tickets.issue(for: token)
            return .json(["ticket": .string(ticket), "expires_in": .integer(StreamTickets.seconds)])
        }
        ticket.needsUser = { _ in true }
        return [webSocket, changes, ticket]
    }

    private static func webSocket(_ exchange: Exchange, _ maxLineBytes: Int) throws(ProtocolError) -> HTTPAnswer {
        let headers = exchange.request.headers
        // RFC 9110, section 7.8: an upgrade of HTTP/1.0 is ignored.
        guard exchange.request.version == .http1_1,
            headers[canonicalForm: "Upgrade"].contains(where: { $0.lowercasedASCII == "websocket" }),
            headers[canonicalForm: "Connection"].contains(where: { $0.lowercasedASCII == "upgrade" }),
            exchange.request.header("Sec-WebSocket-Version") == "13"
        else {
            // RFC 9110, section 15.5.22, and RFC 6455, section 4.4.
            var answer = ErrorStyle.protocol.answer(
                ProtocolError(.invalidRequest, "This is a WebSocket's path: ask for an upgrade, version 13."))
            answer.status = .upgradeRequired
            answer.headers.add(name: "Upgrade", value: "websocket")
            answer.headers.add(name: "Sec-WebSocket-Version", value: "13")
            return answer
        }
        guard let key = exchange.request.header("Sec-WebSocket-Key"), Data(base64Encoded: key)?.count == 16 else {
            throw .refused("Sec-WebSocket-Key", "must be 16 bytes in Base64.")
        }
        let offered = headers[canonicalForm: "Sec-WebSocket-Protocol"]
        guard offered.isEmpty || offered.contains(Substring(subprotocol)) else {
            throw ProtocolError(.invalidRequest, "The subprotocol is \(subprotocol).")
        }
        let magic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        let accept = Data(Insecure.SHA1.hash(data: Data((key + magic).utf8))).base64EncodedString()
        var answer = HTTPAnswer(
            .switchingProtocols,
            ["Upgrade": "websocket", "Connection": "upgrade", "Sec-WebSocket-Accept": accept])
        if !offered.isEmpty { answer.headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol) }
        let (lines, address) = (exchange.gateway.lines, exchange.clientAddress)
        answer.takeOver = { channel, slot in
            slot.forwardedAddress = address
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(WebSocketFrameEncoder())
            try pipeline.addHandler(ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: maxLineBytes)))
            try pipeline.addHandler(WebSocketFraming(maxMessageBytes: maxLineBytes))
            try lines.takeOver(channel, slot)
        }
        return answer
    }

    private static func eventStream(_ exchange: Exchange) async throws(ProtocolError) -> HTTPAnswer {
        let query = exchange.request.target
        if query["ticket"] != nil, exchange.request.header("Authorization") != nil {
            throw .refused("ticket", "and an Authorization header are two: send one of them.")
        }
        let count = try query["messages_per_conversation"].map { text throws(ProtocolError) in
            guard let count = Int(text), (0...100).contains(count) else {
                throw ProtocolError(
                    .invalidParams, "\"messages_per_conversation\" must be 0 to 100.",
                    data: [.init(name: "field", value: .string("messages_per_conversation"))])
            }
            return count
        }
        let (token, resumption) = try await exchange.streamEntry()
        // So that whoever may not is told so by the status.
        try await exchange.conversation.requireSession(of: token, exchange)
        var answer = HTTPAnswer(
            .ok,
            [
                "Content-Type": "text/event-stream", "Connection": "close",
                // For nginx, which would hold events back.
                "X-Accel-Buffering": "no",
            ])
        let isChunked = exchange.request.version == .http1_1
        if isChunked { answer.headers.add(name: "Transfer-Encoding", value: "chunked") }
        let last = exchange.request.header("Last-Event-ID") ?? query["cursor"]
        let start = EventStreamFraming.Start(
            accessToken: token, cursor: last.map { StreamEventID($0).cursor }, messagesPerConversation: count,
            resumption: resumption)
        let (lines, address) = (exchange.gateway.lines, exchange.clientAddress)
        answer.takeOver = { channel, slot in
            slot.forwardedAddress = address
            let pipeline = channel.pipeline.syncOperations
            if isChunked { try pipeline.addHandler(ChunkedContent()) }
            try pipeline.addHandler(EventStreamFraming(start))
            try lines.takeOver(channel, slot)
        }
        return answer
    }
}

extension Exchange {
    /// The token of whoever opens a stream: the bearer's, or the one for which the ticket was issued, with the key that
    /// resumes the ticket's stream.
    fileprivate func streamEntry() async throws(ProtocolError) -> (token: String, resumption: String?) {
        if let token = try token { return (token, nil) }
        guard let ticket = request.target["ticket"] else { throw .unauthenticatedRequest }
        let last = request.header("Last-Event-ID").map { StreamEventID($0) }
        let entry = try await gateway.tickets.redeem(ticket, resumption: last?.resumption, from: clientAddress)
        return (entry.accessToken, entry.resumption)
    }
}
