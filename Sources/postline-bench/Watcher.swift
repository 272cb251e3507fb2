internal import NIOCore
internal import NIOPosix

/// A connection that only notes when how much came: the same for every server that is measured, so that none pays for
/// its client.
///
/// What is counted are marks: two bytes that stand once in each change, and nowhere else in what is sent.
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

    private let channel: any Channel
    private let handler: NIOLoopBound<Handler>

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
        framing: @escaping @Sendable () -> [any ChannelHandler & RemovableChannelHandler] = { [] }
    ) async throws -> Watcher {
        let loop = group.any()
        let ready = loop.makePromise(of: Void.self)
        let channel: any Channel
        let handler: NIOLoopBound<Handler>
        do {
            (channel, handler) = try await ClientBootstrap(group: loop)
                .connectTimeout(.seconds(60))
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let framing = framing()
                        for handler in framing { try channel.pipeline.syncOperations.addHandler(handler) }
                        let handler = Handler(opening, ready: ready, tally: tally, framing: framing)
                        try channel.pipeline.syncOperations.addHandler(handler)
                        return (channel, NIOLoopBound(handler, eventLoop: channel.eventLoop))
                    }
                }
        } catch {
            ready.fail(error)
            throw BenchError("A connection was not made: \(error)")
        }
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        try await ready.futureResult.get()
        return Watcher(channel: channel, handler: handler)
    }

    private init(channel: any Channel, handler: NIOLoopBound<Handler>) {
        self.channel = channel
        self.handler = handler
    }

    /// When what came, from the first change on.
    func arrivals() async throws -> [Arrival] {
        let handler = handler
        return try await channel.eventLoop.submit { handler.value.arrivals }.get()
    }

    /// Forgets what came until now.
    func reset() async throws {
        let handler = handler
        try await channel.eventLoop.submit { handler.value.reset() }.get()
    }

    func close() async { try? await channel.close().get() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var awaited: Opening
        private var opening = ByteBuffer()
        private var framing: [any ChannelHandler & RemovableChannelHandler]
        /// Whether the last byte that came is a mark's first.
        private var endsInMark = false
        private var ready: EventLoopPromise<Void>?
        private let tally: Tally
        private var count = 0
        private(set) var arrivals: [Arrival] = []

        init(
            _ awaited: Opening, ready: EventLoopPromise<Void>, tally: Tally,
            framing: [any ChannelHandler & RemovableChannelHandler]
        ) {
            self.awaited = awaited
            self.ready = ready
            self.tally = tally
            self.framing = framing
        }

        func reset() {
            count = 0
            arrivals = []
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let piece = unwrapInboundIn(data)
            let bytes = piece.readableBytesUInt8Span
            if ready != nil { return open(piece, context) }
            var found = 0
            if endsInMark, bytes.count > 0, bytes[0] == Watcher.mark.1 { found += 1 }
            endsInMark = bytes.count > 0 && bytes[bytes.count - 1] == Watcher.mark.0
            for place in bytes.indices where bytes[place] == Watcher.mark.0 {
                if place + 1 < bytes.count, bytes[place + 1] == Watcher.mark.1 { found += 1 }
            }
            if found == 0 { return }
            count += found
            let now = ContinuousClock.now
            arrivals.append(Arrival(count: count, time: now))
            tally.add(found, at: now)
        }

        private func open(_ piece: ByteBuffer, _ context: ChannelHandlerContext) {
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
            opening = ByteBuffer()
            for handler in framing { context.pipeline.syncOperations.removeHandler(handler, promise: nil) }
            framing = []
            // One that was refused watches nothing.
            if text.contains(#""error":"#) { ready?.fail(BenchError(text)) } else { ready?.succeed() }
            ready = nil
        }

        func channelInactive(context: ChannelHandlerContext) {
            ready?.fail(ChannelError.eof)
            ready = nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
