import NIOCore

/// A decoder that splits the received bytes into lines, without their line feeds.
struct LineDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// The number of buffered bytes that are known to contain no line feed.
    private var scanned = 0

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) -> DecodingState {
        let bytes = buffer.readableBytesView
        guard let end = bytes.dropFirst(scanned).firstIndex(of: UInt8(ascii: "\n")),
            let line = buffer.readSlice(length: end - bytes.startIndex)
        else {
            scanned = bytes.count
            return .needMoreData
        }
        buffer.moveReaderIndex(forwardBy: 1)
        scanned = 0
        context.fireChannelRead(Self.wrapInboundOut(line))
        return .continue
    }

    /// Discards an incomplete line at the end of the connection.
    func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) -> DecodingState {
        .needMoreData
    }
}
