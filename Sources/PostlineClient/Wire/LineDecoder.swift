import NIOCore

/// Cuts lines out of what comes: each without its end.
struct LineDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// So many bytes are known to hold no line end.
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

    /// What is no whole line at the connection's end is none.
    func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) -> DecodingState {
        .needMoreData
    }
}
