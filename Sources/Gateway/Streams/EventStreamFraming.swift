import LineServer
import NIOCore
import WireProtocol

/// A channel handler that serves live sync as server-sent events (HTML Living Standard, section 9.2). Each Changes is one
/// event with its cursor as the id.
///
/// It precedes an ordinary line connection in the pipeline, in the place of WebSocket framing, and acts as that connection's
/// client: it authenticates, opens the sync, fetches further pages while there is `more` and after `sync.lagged`, and
/// converts lines to events. So the stream has the bounds and the backpressure of the line protocol.
final class EventStreamFraming: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The credentials and parameters of a stream.
    struct Configuration: Sendable {
        let accessToken: String

        /// The client's cursor; nil to begin with a reset.
        let cursor: String?
        let messagesPerConversation: Int?

        /// The resumption key for the events' ids; nil if the stream was opened with a token.
        let resumption: String?
    }

    private enum Line {
        /// The next bytes begin a line.
        case start

        /// The rest of an event's data follows. `held` is its last two bytes so far: at the end of the line they are the
        /// line's end, not data.
        case event(held: ByteBuffer)

        /// The rest of the line is skipped.
        case skipping
    }

    private let configuration: Configuration

    /// The time without an event after which a comment is sent, which keeps proxies from closing the stream.
    private let keepAliveInterval: TimeAmount
    private var line = Line.start
    private var hasWritten = false
    private var keepAlive: RepeatedTask?

    init(_ configuration: Configuration, keepAliveInterval: TimeAmount = .seconds(15)) {
        self.configuration = configuration
        self.keepAliveInterval = keepAliveInterval
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let own = NIOLoopBound(self, eventLoop: context.eventLoop)
        keepAlive = context.eventLoop.scheduleRepeatedTask(
            initialDelay: keepAliveInterval, delay: keepAliveInterval
        ) { _ in own.value.sendKeepAlive(bound.value) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { keepAlive?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        keepAlive?.cancel()
        context.fireChannelInactive()
    }

    private func sendKeepAlive(_ context: ChannelHandlerContext) {
        if !hasWritten, case .start = line, context.channel.isWritable {
            context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: ":\n")), promise: nil)
        }
        hasWritten = false
    }

    /// Ignores input: clients of a stream send nothing.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = Self.unwrapOutboundIn(data)
        let event: [ByteBuffer] =
            switch line {
            case .start: begin(bytes, context)
            case .event(let held): eventData(bytes, held)
            case .skipping: skip(bytes)
            }
        let parts = event.filter { $0.readableBytes > 0 }
        guard let last = parts.last else {
            promise?.succeed()
            return
        }
        hasWritten = true
        for part in parts.dropLast() { context.write(Self.wrapOutboundOut(part), promise: nil) }
        context.write(Self.wrapOutboundOut(last), promise: promise)
    }

    /// Converts the beginning of a line, and returns the bytes to write.
    private func begin(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) -> [ByteBuffer] {
        if let changes = bytes.droppingPrefix(#"{"jsonrpc":"2.0","method":"changes","params":"#) {
            return event(changes, context)
        }
        if let changes = bytes.droppingPrefix(#"{"jsonrpc":"2.0","id":2,"result":"#) {
            return event(changes, context)
        }
        // Other lines are short and arrive complete.
        guard case .object(let message)? = try? JSON(parsing: bytes) else { return skip(bytes) }
        switch (message["method"], message["id"], message["error"]) {
        case (.string("server.hello")?, _, _):
            sendRequest(context, 1, "session.authenticate", ["access_token": .string(configuration.accessToken)])
            // Becomes part of the first event: alone, some clients would read it as an empty event.
            return [ByteBuffer(string: "retry: 1000\n")]
        case (.string("server.ping")?, _, _): return [cursorEvent(message["params"])]
        case (.string("sync.lagged")?, _, _):
            openSync(context, cursor: Self.cursor(of: message["params"]))
            return []
        case (.string("server.goodbye")?, _, _): return [Self.namedEvent("goodbye", message["params"])]
        case (.string("typing")?, _, _): return [Self.namedEvent("typing", message["params"])]
        case (_, .some(.integer(1)), nil):
            openSync(context, cursor: configuration.cursor)
            return []
        case (_, _, .object(let error)?):
            closeSoon(context)
            return [Self.goodbye(error)]
        default: return []
        }
    }

    /// Returns the beginning of an event for the beginning of a Changes.
    private func event(_ changes: ByteBuffer, _ context: ChannelHandlerContext) -> [ByteBuffer] {
        guard let head = ChangesHead(changes) else {
            // Skipped changes would be lost: the id of the next event includes them.
            closeSoon(context)
            let goodbye: JSONObject = [
                "code": .string("unavailable"), "reconnect": .bool(true),
                "message": .string("Open the stream again with the last event's id."),
            ]
            return [Self.namedEvent("goodbye", .object(goodbye))] + skip(changes)
        }
        if head.hasMore { openSync(context, cursor: head.cursor) }
        var start = ByteBuffer(string: "id: \(id(head.cursor))\ndata: ")
        let data = eventData(changes, ByteBuffer())
        guard changes.readableBytes <= Self.copiedBytes else { return [start] + data }
        for var part in data { start.writeBuffer(&part) }
        return [start]
    }

    /// The size up to which an event is copied into one buffer, in bytes. The data of a larger one stays in the line's
    /// buffer, which all receivers of a push share: copies took 215 kB of each stream whose client did not read.
    private static let copiedBytes = 1_024

    /// Returns the event data that can be written after these bytes: all but the last two, which may end the line.
    private func eventData(_ bytes: ByteBuffer, _ held: ByteBuffer) -> [ByteBuffer] {
        var (held, bytes) = (held, bytes)
        let isLast = bytes.readableBytesView.last == UInt8(ascii: "\n")
        var parts: [ByteBuffer] = []
        if bytes.readableBytes >= 2, let data = bytes.readSlice(length: bytes.readableBytes - 2) {
            parts = [held, data]
            held = bytes
        } else {
            held.writeBuffer(&bytes)
            if let data = held.readSlice(length: max(0, held.readableBytes - 2)) { parts = [data] }
        }
        line = isLast ? .start : .event(held: held)
        return isLast ? parts + [Self.eventEnd] : parts
    }

    private static let eventEnd = ByteBuffer(string: "\n\n")

    private func skip(_ bytes: ByteBuffer) -> [ByteBuffer] {
        line = bytes.readableBytesView.last == UInt8(ascii: "\n") ? .start : .skipping
        return []
    }
}

/// Requests to the line connection, and events for its notices.
extension EventStreamFraming {
    private func openSync(_ context: ChannelHandlerContext, cursor: String?) {
        var params: [JSONObject.Member] = []
        if let cursor { params.append(.init(name: "cursor", value: .string(cursor))) }
        if let count = configuration.messagesPerConversation {
            params.append(.init(name: "messages_per_conversation", value: .integer(count)))
        }
        sendRequest(context, 2, "sync.open", JSONObject(params))
    }

    /// Sends a request to the line connection after the current write.
    private func sendRequest(_ context: ChannelHandlerContext, _ id: Int, _ method: String, _ params: JSONObject) {
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

    /// Returns a `cursor` event, whose id a client reconnects with, or a comment if the ping has no cursor. The event has
    /// data because some clients read an id without data as an empty event.
    private func cursorEvent(_ params: JSON?) -> ByteBuffer {
        guard let cursor = Self.cursor(of: params) else { return ByteBuffer(string: ":\n") }
        return ByteBuffer(string: "event: cursor\nid: \(id(cursor))\ndata: {\"cursor\":\"\(cursor)\"}\n\n")
    }

    private func id(_ cursor: String) -> StreamEventID {
        StreamEventID(cursor: cursor, resumption: configuration.resumption)
    }

    private static func cursor(of params: JSON?) -> String? {
        guard case .object(let params)? = params, case .string(let cursor)? = params["cursor"] else { return nil }
        return cursor
    }

    private static func namedEvent(_ name: String, _ params: JSON?) -> ByteBuffer {
        ByteBuffer(string: "event: \(name)\ndata: \(params?.text ?? "{}")\n\n")
    }

    /// Returns a goodbye event for the error of one of the stream's requests.
    private static func goodbye(_ error: JSONObject) -> ByteBuffer {
        guard case .object(let data)? = error["data"] else {
            return namedEvent("goodbye", .object(error))
        }
        return namedEvent(
            "goodbye",
            .object([
                "code": data["code"] ?? .null, "message": error["message"] ?? .null,
                "reconnect": data["retryable"] ?? .bool(false),
            ]))
    }
}

/// The first members of a Changes, which have a fixed order.
private struct ChangesHead {
    let cursor: String
    let hasMore: Bool

    /// Nil if the buffer does not have the whole cursor. It is long if many transactions are in progress.
    init?(_ changes: ByteBuffer) {
        let opening = #"{"cursor":""#
        guard let rest = changes.droppingPrefix(opening)?.readableBytesView,
            let end = rest.firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        cursor = String(decoding: rest[..<end], as: UTF8.self)
        let flags = String(decoding: rest[end...].prefix(40), as: UTF8.self)
        hasMore = ["true", "false"].contains { flags.hasPrefix(#"","reset":\#($0),"more":true"#) }
    }
}

extension ByteBuffer {
    /// Returns the bytes after a prefix, or nil if the buffer does not begin with it.
    fileprivate func droppingPrefix(_ text: String) -> ByteBuffer? {
        guard readableBytesView.starts(with: text.utf8) else { return nil }
        return getSlice(at: readerIndex + text.utf8.count, length: readableBytes - text.utf8.count)
    }
}
