package import NIOCore
import NIOWebSocket

/// A minimal WebSocket client whose text messages are lines.
///
/// It is a framing for `LineClient.connect` in tests and benchmarks: it does not validate the server's frames, and does
/// not answer pings.
package final class WebSocketClientFraming: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    private var received = ByteBuffer()
    private var isOpen = false

    /// True if the next frame continues a message.
    private var isContinuing = false

    /// Lines that were written before the WebSocket opened.
    private var waiting: [(lines: ByteBuffer, promise: EventLoopPromise<Void>?)] = []

    package init() {}

    package func channelActive(context: ChannelHandlerContext) {
        let request =
            "GET /v1/line HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Protocol: postline.v1\r\n\r\n"
        context.writeAndFlush(Self.wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
        context.fireChannelActive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(Self.unwrapInboundIn(data))
        if !isOpen {
            guard let end = received.readableBytesView.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
            let head = received.readString(length: end.upperBound - received.readerIndex) ?? ""
            guard head.hasPrefix("HTTP/1.1 101 ") else { return context.close(promise: nil) }
            isOpen = true
            for (lines, promise) in waiting { write(lines, promise, context) }
            waiting = []
            context.flush()
        }
        while let frame = nextFrame() {
            switch frame.opcode {
            case 0x0, 0x1:
                var line = frame.payload
                if frame.isLast { line.writeString("\n") }
                context.fireChannelRead(Self.wrapInboundOut(line))
            default: break
            }
        }
        received.discardReadBytes()
    }

    /// Returns the next frame from the server, which is not masked (RFC 6455, section 5.2).
    private func nextFrame() -> (opcode: UInt8, isLast: Bool, payload: ByteBuffer)? {
        var rest = received
        guard let first = rest.readInteger(as: UInt8.self), let second = rest.readInteger(as: UInt8.self) else {
            return nil
        }
        let length: Int? =
            switch second {
            case 126: rest.readInteger(as: UInt16.self).map { Int($0) }
            case 127: rest.readInteger(as: UInt64.self).map { Int($0) }
            default: Int(second)
            }
        guard let length, let payload = rest.readSlice(length: length) else { return nil }
        received = rest
        return (first & 0xF, first & 0x80 != 0, payload)
    }

    package func channelInactive(context: ChannelHandlerContext) {
        for (_, promise) in waiting { promise?.fail(ChannelError.eof) }
        waiting = []
        context.fireChannelInactive()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let lines = Self.unwrapOutboundIn(data)
        guard isOpen else { return waiting.append((lines, promise)) }
        write(lines, promise, context)
    }

    private func write(_ lines: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        var lines = lines
        var frames = ByteBuffer()
        while lines.readableBytes > 0 {
            let end = lines.readableBytesView.firstIndex(of: UInt8(ascii: "\n"))
            let count = (end ?? lines.writerIndex) - lines.readerIndex
            writeFrame(lines.readSlice(length: count) ?? ByteBuffer(), isLast: end != nil, to: &frames)
            if end != nil { lines.moveReaderIndex(forwardBy: 1) }
        }
        context.write(Self.wrapOutboundOut(frames), promise: promise)
    }

    /// Writes a masked frame. An incomplete line becomes a fragment.
    private func writeFrame(_ line: ByteBuffer, isLast: Bool, to frames: inout ByteBuffer) {
        frames.writeInteger(UInt8((isLast ? 0x80 : 0) | (isContinuing ? 0 : 1)))
        isContinuing = !isLast
        switch line.readableBytes {
        case ..<126: frames.writeInteger(0x80 | UInt8(line.readableBytes))
        case ..<65_536:
            frames.writeInteger(UInt8(0x80 | 126))
            frames.writeInteger(UInt16(line.readableBytes))
        default:
            frames.writeInteger(UInt8(0x80 | 127))
            frames.writeInteger(UInt64(line.readableBytes))
        }
        var masked = line
        let mask: WebSocketMaskingKey = [0x12, 0x34, 0x56, 0x78]
        masked.webSocketMask(mask)
        frames.writeBytes(mask)
        frames.writeImmutableBuffer(masked)
    }
}
