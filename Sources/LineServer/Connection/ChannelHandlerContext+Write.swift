import NIOCore

extension ChannelHandlerContext {
    /// Writes a batch of lines. The kernel must have accepted all earlier writes.
    ///
    /// - Parameters:
    ///   - lines: at least one.
    ///   - socket: the direct writer, or nil if an earlier handler transforms written bytes.
    ///   - onCompletion: called once the kernel has accepted the bytes, possibly before this returns. It is not called
    ///     if the write fails, which closes the connection.
    func write(_ lines: [ByteBuffer], over socket: DirectSocketWriter?, onCompletion: @escaping () -> Void) {
        var lines = lines
        if let socket, lines.count == 1 {
            lines[0] = socket.write(lines[0])
            if lines[0].readableBytes == 0 { return onCompletion() }
        }
        let promise = eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenSuccess(onCompletion)
        for line in lines.dropLast() { write(ConnectionHandler.wrapOutboundOut(line), promise: nil) }
        writeAndFlush(ConnectionHandler.wrapOutboundOut(lines[lines.count - 1]), promise: promise)
    }
}
