import NIOCore
import WireProtocol

/// A handler that splits the received bytes into lines and delivers them to the connection's client.
///
/// It is confined to the connection's event loop, like every channel handler.
final class LineHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var partial: ByteBuffer?
    /// The number of bytes of `partial` that are known to contain no line feed.
    private var searched = 0
    private var receiver: LineClient?
    private var waiting: [ByteBuffer] = []
    private var isClosed = false
    private let firstLine: EventLoopPromise<ByteBuffer>

    /// Creates a handler.
    ///
    /// - Parameter firstLine: A promise that succeeds with the first line, and fails if there is none.
    init(firstLine: EventLoopPromise<ByteBuffer>) {
        self.firstLine = firstLine
    }

    /// Delivers all further lines to `client`, beginning with those that have already arrived.
    func attach(_ client: LineClient) {
        receiver = client
        for line in waiting { client.assumeIsolated { $0.received(line) } }
        waiting = []
        if isClosed { client.assumeIsolated { $0.connectionClosed() } }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        if var held = partial {
            held.writeBuffer(&bytes)
            bytes = held
        }
        var from = searched
        while let end = firstLineEnd(in: bytes.readableBytesSpan, from: from) {
            from = 0
            guard var line = bytes.readSlice(length: end) else { break }
            bytes.moveReaderIndex(forwardBy: 1)
            if let last = line.getInteger(at: line.writerIndex - 1, as: UInt8.self), last == UInt8(ascii: "\r") {
                line.moveWriterIndex(to: line.writerIndex - 1)
            }
            if line.readableBytes > 0 { deliver(line) }
        }
        searched = bytes.readableBytes
        partial = bytes.readableBytes == 0 ? nil : bytes
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        firstLine.fail(ChannelError.eof)
        receiver?.assumeIsolated { $0.connectionClosed() }
        receiver = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        firstLine.fail(error)
        context.close(promise: nil)
    }

    private var sawFirstLine = false

    private func deliver(_ line: ByteBuffer) {
        if !sawFirstLine {
            sawFirstLine = true
            firstLine.succeed(line)
        } else if let receiver {
            receiver.assumeIsolated { $0.received(line) }
        } else {
            waiting.append(line)
        }
    }
}
