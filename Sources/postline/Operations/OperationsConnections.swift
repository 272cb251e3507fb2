internal import NIOCore
internal import Synchronization

/// The connections of the operations port, bounded in number and in time, whatever those who connect do or do not do:
/// their descriptors are the clients'.
final class OperationsConnections: Sendable {
    /// How many there may be. Past it the one goes that has been without an answer for longest, so that half-sent
    /// requests keep nobody out who asks a whole one.
    private let limit: Int

    /// How long one may go without being written to: while its request comes, while its answer is not read, and while it
    /// asks nothing.
    private let patience: TimeAmount

    private struct Place {
        let channel: any Channel
        var answered: NIODeadline
    }

    private let places = Mutex<[ObjectIdentifier: Place]>([:])

    init(limit: Int, patience: Duration) {
        self.limit = limit
        self.patience = TimeAmount(patience)
    }

    /// What bounds one connection.
    func handler() -> some RemovableChannelHandler { Handler(self) }

    private func opened(_ channel: any Channel) {
        let surplus = places.withLock { places -> (any Channel)? in
            let longest = places.count < limit ? nil : places.min { $0.value.answered < $1.value.answered }
            if let longest { places[longest.key] = nil }
            places[ObjectIdentifier(channel)] = Place(channel: channel, answered: .now())
            return longest?.value.channel
        }
        surplus?.close(promise: nil)
    }

    private func answered(_ channel: any Channel) {
        places.withLock { $0[ObjectIdentifier(channel)]?.answered = .now() }
    }

    private func closed(_ channel: any Channel) {
        places.withLock { $0[ObjectIdentifier(channel)] = nil }
    }

    /// Knows of what is written only whether it could be, not what it is.
    private final class Handler: ChannelOutboundHandler, RemovableChannelHandler {
        typealias OutboundIn = Any

        private let connections: OperationsConnections
        private var end: Scheduled<Void>?

        init(_ connections: OperationsConnections) { self.connections = connections }

        func handlerAdded(context: ChannelHandlerContext) {
            connections.opened(context.channel)
            endLater(context.channel)
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            end?.cancel()
            connections.closed(context.channel)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            let written = promise ?? context.eventLoop.makePromise()
            let channel = context.channel
            written.futureResult.assumeIsolated().whenSuccess {
                self.connections.answered(channel)
                self.endLater(channel)
            }
            context.write(data, promise: written)
        }

        private func endLater(_ channel: any Channel) {
            end?.cancel()
            end = channel.eventLoop.scheduleTask(in: connections.patience) { channel.close(promise: nil) }
        }
    }
}
