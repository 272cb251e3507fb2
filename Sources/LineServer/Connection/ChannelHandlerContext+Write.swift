import NIOCore

extension ChannelHandlerContext {
    /// Writes a flight, all that was written before being with the kernel.
    ///
    /// - Parameters:
    ///   - lines: at least one.
    ///   - socket: what they go over as they are; nil where a handler before this one changes what is written.
    ///   - onCompletion: called when the kernel has it, which may be at once. Never where that fails: the connection goes with
    ///     it.
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
