internal import NIOCore
internal import NIOPosix

/// A connection that only notes when how much came: the same for every server that is measured, so that none pays for
/// its client.
///
/// It is opened by NIO, and read by the ``WatcherThread``. What is counted are marks: two bytes that stand once in each
/// change, and nowhere else in what is sent.
struct Watcher: Sendable {
    /// The first two bytes of 🌊, with which the texts of measured changes begin. The first alone may also be the length
    /// of a WebSocket's frame.
    static let mark: (UInt8, UInt8) = (0xF0, 0x9F)
    static let markText = "🌊"

    /// So many changes had come at that time.
    struct Arrival: Sendable {
        let count: Int
        let time: ContinuousClock.Instant
    }

    private let counter: MarkCounter

    /// What is awaited before a watcher watches.
    enum Opening: Sendable {
        /// So many lines.
        case lines(Int)

        /// The first server-sent event, whole.
        case event
    }

    /// Connects, says something, and returns when its answer has come; all that comes later is counted.
    ///
    /// - Parameter framing: stands between what is said and the connection until the answer has come: what is counted
    ///   then is found in what it would take apart, too.
    static func connect(
        port: Int, group: MultiThreadedEventLoopGroup, saying text: String, until opening: Opening, tally: Tally,
        framing: @escaping @Sendable () -> [any ChannelHandler] = { [] }
    ) async throws -> Watcher {
        let loop = group.any()
        let ready = loop.makePromise(of: Void.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .connectTimeout(.seconds(60))
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        for handler in framing() { try channel.pipeline.syncOperations.addHandler(handler) }
                        try channel.pipeline.syncOperations.addHandler(Opener(opening, ready: ready))
                        return channel
                    }
                }
        } catch {
            ready.fail(error)
            throw BenchError("A connection was not made: \(error)")
        }
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        try await ready.futureResult.get()
        let counter = MarkCounter(tally)
        // The socket is the thread's from now on, and NIO's no more.
        try await loop.submit {
            let socket = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }
            guard let socket else { throw BenchError("A connection has no socket.") }
            try WatcherThread.read(socket, for: counter)
        }.get()
        try await channel.close().get()
        return Watcher(counter: counter)
    }

    /// When what came, from the first change on.
    func arrivals() -> [Arrival] { counter.all }

    /// Forgets what came until now.
    func reset() { counter.reset() }

    func close() { counter.end() }

    /// Waits for the answer to what was said.
    private final class Opener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var awaited: Opening
        private var opening = ByteBuffer()
        private var ready: EventLoopPromise<Void>?

        init(_ awaited: Opening, ready: EventLoopPromise<Void>) {
            self.awaited = awaited
            self.ready = ready
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let ready else { return }
            let piece = unwrapInboundIn(data)
            opening.writeImmutableBuffer(piece)
            let isOpen: Bool
            switch awaited {
            case .lines(let count):
                let rest = count - piece.readableBytesView.count { $0 == UInt8(ascii: "\n") }
                awaited = .lines(rest)
                isOpen = rest <= 0
            case .event:
                let text = String(buffer: opening)
                isOpen = text.contains(#""error":"#) || text.hasSuffix("\n\n") && text.contains("\ndata: ")
            }
            guard isOpen else { return }
            let text = String(buffer: opening)
            // One that was refused watches nothing.
            if text.contains(#""error":"#) { ready.fail(BenchError(text)) } else { ready.succeed() }
            self.ready = nil
            // What comes from now on is left to whoever has the socket next.
            context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
        }

        func channelInactive(context: ChannelHandlerContext) {
            ready?.fail(ChannelError.eof)
            ready = nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
