package import NIOCore

/// A handler of a listening channel that closes the new connections of an address that opens them too quickly.
///
/// It closes them before their pipelines are made, and then accepts no others for 1 ms: accepting as fast as a client
/// connects takes a processor from the open connections.
package final class AcceptFilter: ChannelDuplexHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel
    package typealias OutboundIn = any Channel

    private let server: LineServer
    private let isExempt: @Sendable (_ peer: String) -> Bool
    private var isPaused = false
    private var hasPendingRead = false

    /// - Parameter isExempt: returns true for the address of a proxy, whose connections are of many clients.
    package init(of server: LineServer, isExempt: @escaping @Sendable (_ peer: String) -> Bool) {
        self.server = server
        self.isExempt = isExempt
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let connection = Self.unwrapInboundIn(data)
        let peer = connection.remoteAddress?.peer ?? ""
        guard !isExempt(peer), server.refusesNew(from: peer) else { return context.fireChannelRead(data) }
        connection.close(promise: nil)
        pause(context)
    }

    package func read(context: ChannelHandlerContext) {
        if isPaused { hasPendingRead = true } else { context.read() }
    }

    private func pause(_ context: ChannelHandlerContext) {
        guard !isPaused else { return }
        isPaused = true
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(1)) {
            self.isPaused = false
            guard self.hasPendingRead else { return }
            self.hasPendingRead = false
            context.read()
        }
    }
}
