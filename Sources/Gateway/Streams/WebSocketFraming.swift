import LineServer
import NIOCore
import NIOWebSocket
import WireProtocol

/// A channel handler that converts between lines and WebSocket messages (RFC 6455). A text message is one line without its
/// line end.
///
/// It is placed between NIO's frame coding and an ordinary line connection. Pieces of a message are forwarded immediately,
/// and an incomplete line is written as a fragment.
final class WebSocketFraming: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    /// The largest message, in bytes.
    private let maxMessageBytes: Int

    /// The bytes of the current message so far; nil between messages.
    private var messageBytes: Int?
    private var utf8 = UTF8Validator()

    /// True if further input is ignored.
    private var ignoresInput = false

    /// True if the next frame continues a message.
    private var isContinuing = false

    /// The payload of the newest ping without a pong, while the client does not read.
    private var pendingPong: ByteBuffer?

    private var smallFrames = SmallFrameRateLimit()

    /// The code of the close frame; nil once it is sent.
    private var closeCode: WebSocketErrorCode? = .normalClosure

    init(maxMessageBytes: Int) { self.maxMessageBytes = maxMessageBytes }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        guard !ignoresInput else { return }
        guard frame.rsv1 == false, frame.rsv2 == false, frame.rsv3 == false, frame.maskKey != nil else {
            return fail(context, .protocolError)
        }
        guard frame.isSubstantial || smallFrames.allowFrame(.now()) else { return fail(context, .policyViolation) }
        switch frame.opcode {
        case .text where messageBytes == nil:
            messageBytes = 0
            receive(frame, context)
        case .continuation where messageBytes != nil: receive(frame, context)
        case .binary: fail(context, .unacceptableData)
        case .ping:
            pendingPong = frame.unmaskedData
            sendPong(context)
        case .pong: break
        case .connectionClose: receiveClose(frame, context)
        default: fail(context, .protocolError)
        }
    }

    private func receive(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        let payload = frame.unmaskedData
        let count = (messageBytes ?? 0) + payload.readableBytes
        guard count <= maxMessageBytes else { return rejectTooLong(context) }
        guard utf8.validate(payload, isLast: frame.fin) else { return fail(context, .dataInconsistentWithMessage) }
        messageBytes = frame.fin ? nil : count
        if payload.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(payload)) }
        if frame.fin { context.fireChannelRead(Self.wrapInboundOut(Self.lineEnd)) }
    }

    private static let lineEnd = ByteBuffer(string: "\n")

    /// Lets the connection say goodbye, and ignores further input.
    private func rejectTooLong(_ context: ChannelHandlerContext) {
        ignoresInput = true
        context.fireUserInboundEventTriggered(FramingEvent.messageTooLong)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error as? NIOWebSocketError {
        case .invalidFrameLength: rejectTooLong(context)
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
        sendPong(context)
        context.fireChannelWritabilityChanged()
    }

    /// Sends the pending pong if the channel is writable.
    private func sendPong(_ context: ChannelHandlerContext) {
        guard let payload = pendingPong, context.channel.isWritable, closeCode != nil else { return }
        pendingPong = nil
        context.writeAndFlush(
            Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: payload)), promise: nil)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if let code = event as? GoodbyeCode, closeCode != nil { closeCode = .init(code) }
        context.triggerUserOutboundEvent(event, promise: promise)
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input { sendClose(context) }
        context.close(mode: mode, promise: promise)
    }

    private func sendClose(_ context: ChannelHandlerContext) {
        guard let code = closeCode else { return }
        closeCode = nil
        var data = ByteBuffer()
        data.write(webSocketErrorCode: code)
        context.writeAndFlush(
            Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)), promise: nil)
    }

    /// Handles the client's close frame: pending requests get their responses before the server's close frame.
    private func receiveClose(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        var payload = frame.unmaskedData
        if payload.readableBytes > 0 {
            // RFC 6455, section 7.4: the codes that a client may send.
            guard let code = payload.readInteger(as: UInt16.self),
                [1_000...1_003, 1_007...1_014, 3_000...4_999].contains(where: { $0.contains(Int(code)) })
            else { return fail(context, .protocolError) }
            guard isValidUTF8(payload.readableBytesUInt8Span) else {
                return fail(context, .dataInconsistentWithMessage)
            }
        }
        ignoresInput = true
        context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }

    /// Closes the connection of a client that violates RFC 6455 or sends too many small frames.
    private func fail(_ context: ChannelHandlerContext, _ code: WebSocketErrorCode) {
        if closeCode != nil { closeCode = code }
        close(context: context, mode: .all, promise: nil)
    }
}

extension WebSocketFrame {
    /// The smallest regular fragment, in bytes. Clients have no reason to send smaller fragments before the last.
    private static let minFragmentBytes = 64

    /// False for a frame that costs the server more than the client: a ping, a pong, a message of white space, or a small
    /// fragment before the last.
    fileprivate var isSubstantial: Bool {
        guard [.text, .continuation].contains(opcode), length > 0 else { return false }
        // Longer frames cost the client as much as the server.
        if length >= Self.minFragmentBytes { return true }
        return fin && unmaskedData.readableBytesView.contains { $0 > UInt8(ascii: " ") }
    }
}

/// A rate limit for a client's insubstantial frames. It is needed because the event loop processes all frames of one read
/// before it serves its other connections.
struct SmallFrameRateLimit {
    private static let burst = 256.0
    private static let perSecond = 32.0

    private var remaining = Self.burst
    private var updated = NIODeadline.uptimeNanoseconds(0)

    /// Counts a frame, and returns false if it exceeds the limit.
    mutating func allowFrame(_ now: NIODeadline) -> Bool {
        remaining = min(Self.burst, remaining + Double((now - updated).nanoseconds) / 1e9 * Self.perSecond)
        updated = now
        guard remaining >= 1 else { return false }
        remaining -= 1
        return true
    }
}

extension WebSocketErrorCode {
    /// Converts the code of a goodbye to a close code (RFC 6455, section 7.4, and its registry).
    fileprivate init(_ code: GoodbyeCode) {
        self =
            switch code {
            case .shuttingDown: .goingAway
            // 1012 is "Service Restart", 1013 is "Try Again Later".
            case .restored: .unknown(1_012)
            case .tokenExpired, .sessionRevoked, .authenticationTimeout: .policyViolation
            case .lineTooLong: .messageTooLarge
            case .slowConsumer, .tooManyConnections: .unknown(1_013)
            }
    }
}

/// Validates UTF-8 text that arrives in pieces, which may be cut within a code point.
struct UTF8Validator {
    /// The beginning of an incomplete code point, at most three bytes.
    private var incomplete: [UInt8] = []

    /// Validates the next piece, and returns false if the text is not UTF-8. An incomplete code point is invalid only at
    /// the end of the text.
    ///
    /// - Parameter isLast: true if the text ends with this piece.
    mutating func validate(_ piece: ByteBuffer, isLast: Bool) -> Bool {
        guard !isLast || !incomplete.isEmpty || piece.readableBytes > 0 else { return true }
        if isLast, incomplete.isEmpty { return isValidUTF8(piece.readableBytesUInt8Span) }
        var bytes = incomplete
        bytes += piece.readableBytesView
        let end = isLast ? bytes.count : Self.lastBoundary(bytes)
        incomplete = isLast ? [] : Array(bytes[end...])
        return isValidUTF8(bytes.span.extracting(..<end))
    }

    /// Returns the index of the incomplete last code point by its first byte, or the end of the text.
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
