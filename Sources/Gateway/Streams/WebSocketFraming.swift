import LineServer
import Messaging
import NIOCore
import NIOWebSocket

/// Lines as WebSocket messages (RFC 6455), both ways: a text message is one line, without its line end.
///
/// It stands between NIO's frame coding and the line connection, which is the same as on the line port and does not know
/// of it: what of a message comes is passed on at once, and what is not whole of a line leaves as a fragment.
final class WebSocketFraming: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    /// The largest message that is taken, in bytes.
    private let maxMessageBytes: Int

    /// How much of a message has come; nil between messages.
    private var messageBytes: Int?
    private var utf8 = UTF8Stream()

    /// Whether what comes is of no account any more.
    private var isOver = false

    /// Whether what leaves next continues a message.
    private var isContinuing = false

    /// A ping's payload that is still to be given back: the newest, where the client takes nothing.
    private var owedPong: ByteBuffer?

    private var smallFrames = SmallFrameAllowance()

    /// What the close frame says; nil once it is sent.
    private var closeCode: WebSocketErrorCode? = .normalClosure

    init(maxMessageBytes: Int) { self.maxMessageBytes = maxMessageBytes }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        guard !isOver else { return }
        guard frame.rsv1 == false, frame.rsv2 == false, frame.rsv3 == false, frame.maskKey != nil else {
            return fail(context, .protocolError)
        }
        guard frame.isWorthwhile || smallFrames.take(.now()) else { return fail(context, .policyViolation) }
        switch frame.opcode {
        case .text where messageBytes == nil:
            messageBytes = 0
            take(frame, context)
        case .continuation where messageBytes != nil: take(frame, context)
        case .binary: fail(context, .unacceptableData)
        case .ping:
            owedPong = frame.unmaskedData
            pong(context)
        case .pong: break
        case .connectionClose: clientCloses(frame, context)
        default: fail(context, .protocolError)
        }
    }

    private func take(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        let payload = frame.unmaskedData
        let count = (messageBytes ?? 0) + payload.readableBytes
        guard count <= maxMessageBytes else { return isTooLong(context) }
        guard utf8.take(payload, isLast: frame.fin) else { return fail(context, .dataInconsistentWithMessage) }
        messageBytes = frame.fin ? nil : count
        if payload.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(payload)) }
        if frame.fin { context.fireChannelRead(Self.wrapInboundOut(Self.lineEnd)) }
    }

    private static let lineEnd = ByteBuffer(string: "\n")

    /// The connection says goodbye, and no more is taken.
    private func isTooLong(_ context: ChannelHandlerContext) {
        isOver = true
        context.fireUserInboundEventTriggered(FramingEvent.messageTooLong)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error as? NIOWebSocketError {
        case .invalidFrameLength: isTooLong(context)
        case .some: fail(context, .protocolError)
        case nil: context.fireErrorCaught(error)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = Self.unwrapOutboundIn(data)
        let isLast = bytes.readableBytesView.last == UInt8(ascii: "\n")
        if isLast { bytes.moveWriterIndex(to: bytes.writerIndex - 1) }
        let frame = WebSocketFrame(fin: isLast, opcode: isContinuing ? .continuation : .text, data: bytes)
        isContinuing = !isLast
        context.write(Self.wrapOutboundOut(frame), promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pong(context)
        context.fireChannelWritabilityChanged()
    }

    /// Gives a ping back, as soon as the client makes room for that.
    private func pong(_ context: ChannelHandlerContext) {
        guard let payload = owedPong, context.channel.isWritable, closeCode != nil else { return }
        owedPong = nil
        context.writeAndFlush(
            Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: payload)), promise: nil)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if let code = event as? GoodbyeCode, closeCode != nil { closeCode = .init(code) }
        context.triggerUserOutboundEvent(event, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input { sayClose(context) }
        context.close(mode: mode, promise: promise)
    }

    private func sayClose(_ context: ChannelHandlerContext) {
        guard let code = closeCode else { return }
        closeCode = nil
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        context.writeAndFlush(
            Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)), promise: nil)
    }

    /// The client sends nothing more. What it asked is answered still, and then the close frame is.
    private func clientCloses(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        var payload = frame.unmaskedData
        if payload.readableBytes > 0 {
            // RFC 6455, section 7.4: of those below 3000 a client may send these.
            guard let code = payload.readInteger(as: UInt16.self),
                [1_000...1_003, 1_007...1_014, 3_000...4_999].contains(where: { $0.contains(Int(code)) })
            else { return fail(context, .protocolError) }
            guard isValidUTF8(payload.readableBytesUInt8Span) else {
                return fail(context, .dataInconsistentWithMessage)
            }
        }
        isOver = true
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    /// The client does not keep to RFC 6455.
    private func fail(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        if closeCode != nil { closeCode = code }
        close(context: context, mode: .all, promise: nil)
    }
}

extension WebSocketFrame {
    /// The least bytes of a fragment that another follows. A client that sends fragments has no reason for less.
    private static let leastFragment = 64

    /// False for a frame that costs the server more than its client: a ping, a pong, a message of line ends, or a small
    /// fragment that another follows.
    fileprivate var isWorthwhile: Bool {
        guard [.text, .continuation].contains(opcode), length > 0 else { return false }
        // What is longer costs its client as much as the server.
        if length >= Self.leastFragment { return true }
        return fin && unmaskedData.readableBytesView.contains { $0 > UInt8(ascii: " ") }
    }
}

/// A bound on a client's frames that are not worthwhile. All frames of one read are handled before the loop's other
/// connections are.
struct SmallFrameAllowance {
    private static let most = 256.0
    private static let perSecond = 32.0

    private var left = Self.most
    private var updated = NIODeadline.uptimeNanoseconds(0)

    /// Returns false if the client has sent too many.
    mutating func take(_ now: NIODeadline) -> Bool {
        left = min(Self.most, left + Double((now - updated).nanoseconds) / 1e9 * Self.perSecond)
        updated = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}

extension WebSocketErrorCode {
    /// What a goodbye is as a close code (RFC 6455, section 7.4, and its registry).
    fileprivate init(_ code: GoodbyeCode) {
        self =
            switch code {
            case .shuttingDown: .goingAway
            // "Service Restart": connect again.
            case .restored: .unknown(1_012)
            case .tokenExpired, .sessionRevoked, .authenticationTimeout: .policyViolation
            case .lineTooLong: .messageTooLarge
            case .slowConsumer, .tooManyConnections: .unknown(1_013)
            }
    }
}

/// Whether text that comes in pieces is UTF-8, wherever it is cut.
struct UTF8Stream {
    /// The beginning of a code point whose end has not come: three bytes at most.
    private var beginning: [UInt8] = []

    /// - Parameter isLast: whether the text ends with this.
    /// - Returns: false where it is none; a text that is not whole is none at its end only.
    mutating func take(_ piece: ByteBuffer, isLast: Bool) -> Bool {
        guard !isLast || !beginning.isEmpty || piece.readableBytes > 0 else { return true }
        if isLast, beginning.isEmpty { return isValidUTF8(piece.readableBytesUInt8Span) }
        var bytes = beginning
        bytes += piece.readableBytesView
        let end = isLast ? bytes.count : Self.lastBoundary(bytes)
        beginning = isLast ? [] : Array(bytes[end...])
        return isValidUTF8(bytes.span.extracting(..<end))
    }

    /// Where the last code point begins that is not whole, as far as its first byte tells.
    private static func lastBoundary(_ bytes: [UInt8]) -> Int {
        for back in 1...3 where bytes.count >= back {
            let byte = bytes[bytes.count - back]
            if byte < 0x80 { break }
            guard byte >= 0xC0 else { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
            return length > back ? bytes.count - back : bytes.count
        }
        return bytes.count
    }
}
