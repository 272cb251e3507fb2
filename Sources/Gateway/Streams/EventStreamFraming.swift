import LineServer
import Messaging
import NIOCore

/// Live sync as server-sent events (HTML Living Standard, section 9.2): a Changes is one event, whose id is its cursor.
///
/// It stands where a WebSocket's framing stands, before a line connection that does not know of it, and is that
/// connection's client: it signs in, opens the sync, goes on while there is `more` and after `sync.lagged`, and makes
/// events of what is said. So the stream has the line protocol's bounds and its back-pressure.
final class EventStreamFraming: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the stream begins with.
    struct Start: Sendable {
        let accessToken: String

        /// How far the client is; nil: it gets its whole world.
        let cursor: String?
        let messagesPerConversation: Int?

        /// The key that resumes the stream, for the ids of its events; nil: it needs none.
        let resumption: String?
    }

    private enum Line {
        /// The next bytes are a line's first.
        case awaited

        /// The rest of an event's data follows. `held`: its last two bytes so far, which end the line rather than the data
        /// where nothing follows.
        case event(held: ByteBuffer)
        case discarded
    }

    private let start: Start

    /// After how long without an event a comment is sent, which keeps proxies from closing the stream.
    private let commentInterval: TimeAmount
    private var line = Line.awaited
    private var hasWritten = false
    private var comments: RepeatedTask?

    init(_ start: Start, commentInterval: TimeAmount = .seconds(15)) {
        self.start = start
        self.commentInterval = commentInterval
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let own = NIOLoopBound(self, eventLoop: context.eventLoop)
        comments = context.eventLoop.scheduleRepeatedTask(
            initialDelay: commentInterval, delay: commentInterval
        ) { _ in own.value.comment(bound.value) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { comments?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        comments?.cancel()
        context.fireChannelInactive()
    }

    private func comment(_ context: ChannelHandlerContext) {
        if !hasWritten, case .awaited = line, context.channel.isWritable {
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: ":\n")), promise: nil)
        }
        hasWritten = false
    }

    /// A client of a stream has nothing to say.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = Self.unwrapOutboundIn(data)
        let event: ByteBuffer? =
            switch line {
            case .awaited: begin(bytes, context)
            case .event(let held): continueEvent(bytes, held)
            case .discarded: discard(bytes)
            }
        guard let event, event.readableBytes > 0 else {
            promise?.succeed()
            return
        }
        hasWritten = true
        context.write(Self.wrapOutboundOut(event), promise: promise)
    }

    /// What becomes of a line that begins so.
    private func begin(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) -> ByteBuffer? {
        if let changes = bytes.after(#"{"jsonrpc":"2.0","method":"changes","params":"#) {
            return event(changes, context)
        }
        if let changes = bytes.after(#"{"jsonrpc":"2.0","id":2,"result":"#) {
            return event(changes, context)
        }
        // All else is short, and comes whole.
        guard case .object(let message)? = try? JSON(parsing: bytes) else { return discard(bytes) }
        switch (message["method"], message["id"], message["error"]) {
        case (.string("server.hello")?, _, _):
            ask(context, 1, "session.authenticate", ["access_token": .string(start.accessToken)])
            // It belongs to the first event: alone it would be an empty one to some clients.
            return ByteBuffer(string: "retry: 1000\n")
        case (.string("server.ping")?, _, _): return keepingFresh(message["params"])
        case (.string("sync.lagged")?, _, _):
            openSync(context, cursor: Self.cursor(of: message["params"]))
            return nil
        case (.string("server.goodbye")?, _, _): return Self.named("goodbye", message["params"])
        case (.string("typing")?, _, _): return Self.named("typing", message["params"])
        case (_, .some(.integer(1)), nil):
            openSync(context, cursor: start.cursor)
            return nil
        case (_, _, .object(let error)?):
            closeSoon(context)
            return Self.goodbye(error)
        default: return nil
        }
    }

    /// The beginning of an event, from the beginning of its Changes on.
    private func event(_ changes: ByteBuffer, _ context: ChannelHandlerContext) -> ByteBuffer? {
        guard let head = ChangesHead(changes) else { return discard(changes) }
        if head.more { openSync(context, cursor: head.cursor) }
        var event = ByteBuffer(string: "id: \(id(head.cursor))\ndata: ")
        guard let data = continueEvent(changes, ByteBuffer()) else { return event }
        event.writeImmutableBuffer(data)
        return event
    }

    /// What of an event's data may be written with these bytes: all but the two that end the line, which are not its data.
    private func continueEvent(_ bytes: ByteBuffer, _ held: ByteBuffer) -> ByteBuffer? {
        var data = held
        data.writeImmutableBuffer(bytes)
        let isLast = data.readableBytesView.last == UInt8(ascii: "\n")
        let end = data.readSlice(length: max(0, data.readableBytes - 2))
        if isLast {
            line = .awaited
            var event = end ?? ByteBuffer()
            event.writeString("\n\n")
            return event
        }
        line = .event(held: data)
        return end
    }

    private func discard(_ bytes: ByteBuffer) -> ByteBuffer? {
        line = bytes.readableBytesView.last == UInt8(ascii: "\n") ? .awaited : .discarded
        return nil
    }
}

/// What the stream asks of its connection.
extension EventStreamFraming {
    private func openSync(_ context: ChannelHandlerContext, cursor: String?) {
        var params: [JSONObject.Member] = []
        if let cursor { params.append(.init(name: "cursor", value: .string(cursor))) }
        if let count = start.messagesPerConversation {
            params.append(.init(name: "messages_per_conversation", value: .integer(count)))
        }
        ask(context, 2, "sync.open", JSONObject(params))
    }

    /// Sends a request, as soon as what is being said has been said.
    private func ask(_ context: ChannelHandlerContext, _ id: Int, _ method: String, _ params: JSONObject) {
        let request: JSONObject = [
            "jsonrpc": .string("2.0"), "id": .integer(id), "method": .string(method), "params": .object(params),
        ]
        let line = ByteBuffer(string: request.text + "\n")
        context.eventLoop.assumeIsolated().execute {
            context.fireChannelRead(Self.wrapInboundOut(line))
            context.fireChannelReadComplete()
        }
    }

    private func closeSoon(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().execute { context.close(promise: nil) }
    }

    /// An event `cursor`, whose id is what a client reconnects with; a comment where nothing is new. An id without data
    /// would do for a browser, but is an empty event to other clients.
    private func keepingFresh(_ params: JSON?) -> ByteBuffer {
        guard let cursor = Self.cursor(of: params) else { return ByteBuffer(string: ":\n") }
        return ByteBuffer(string: "event: cursor\nid: \(id(cursor))\ndata: {\"cursor\":\"\(cursor)\"}\n\n")
    }

    private func id(_ cursor: String) -> StreamEventID {
        StreamEventID(cursor: cursor, resumption: start.resumption)
    }

    private static func cursor(of params: JSON?) -> String? {
        guard case .object(let params)? = params, case .string(let cursor)? = params["cursor"] else { return nil }
        return cursor
    }

    private static func named(_ name: String, _ params: JSON?) -> ByteBuffer {
        ByteBuffer(string: "event: \(name)\ndata: \(params?.text ?? "{}")\n\n")
    }

    /// What a request of the stream was refused with, as a goodbye.
    private static func goodbye(_ error: JSONObject) -> ByteBuffer {
        guard case .object(let data)? = error["data"] else {
            return named("goodbye", .object(error))
        }
        return named(
            "goodbye",
            .object([
                "code": data["code"] ?? .null, "message": error["message"] ?? .null,
                "reconnect": data["retryable"] ?? .bool(false),
            ]))
    }
}

/// The first members of a Changes, which are always these.
private struct ChangesHead {
    let cursor: String
    let more: Bool

    init?(_ changes: ByteBuffer) {
        let head = String(decoding: changes.readableBytesView.prefix(512), as: UTF8.self)
        let opening = #"{"cursor":""#
        guard head.hasPrefix(opening) else { return nil }
        let rest = head.dropFirst(opening.count)
        guard let end = rest.firstIndex(of: "\"") else { return nil }
        cursor = String(rest[..<end])
        more = ["true", "false"].contains { rest[end...].hasPrefix(#"","reset":\#($0),"more":true"#) }
    }
}

extension ByteBuffer {
    /// What follows that text at the beginning; nil where it begins otherwise.
    fileprivate func after(_ text: String) -> ByteBuffer? {
        guard readableBytesView.starts(with: text.utf8) else { return nil }
        return getSlice(at: readerIndex + text.utf8.count, length: readableBytes - text.utf8.count)
    }
}
