internal import NIOCore
internal import NIOPosix

/// A connection that only notes when how much came: the same for every server that is measured, so that none pays for
/// its client.
///
/// What is counted are marks: a byte that stands once in each change, and nowhere else in what is sent.
struct Watcher: Sendable {
    /// The first byte of 🌊, with which the texts of measured changes begin.
    static let mark: UInt8 = 0xF0
    static let markText = "🌊"

    /// So many changes had come at that time.
    struct Arrival: Sendable {
        let count: Int
        let time: ContinuousClock.Instant
    }

    private let channel: any Channel
    private let handler: NIOLoopBound<Handler>

    /// Connects, says something, and returns when so many lines have come; all that comes later is counted.
    static func connect(
        port: Int, group: MultiThreadedEventLoopGroup, saying text: String, lines: Int, tally: Tally
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
                        let handler = Handler(lines: lines, ready: ready, tally: tally)
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

        private var linesToCome: Int
        private var opening = ByteBuffer()
        private var ready: EventLoopPromise<Void>?
        private let tally: Tally
        private var count = 0
        private(set) var arrivals: [Arrival] = []

        init(lines: Int, ready: EventLoopPromise<Void>, tally: Tally) {
            linesToCome = lines
            self.ready = ready
            self.tally = tally
        }

        func reset() {
            count = 0
            arrivals = []
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let piece = unwrapInboundIn(data)
            let bytes = piece.readableBytesUInt8Span
            if ready != nil {
                for place in bytes.indices where bytes[place] == UInt8(ascii: "\n") { linesToCome -= 1 }
                opening.writeImmutableBuffer(piece)
                if linesToCome <= 0 {
                    let text = String(buffer: opening)
                    opening = ByteBuffer()
                    // One that was refused watches nothing.
                    if text.contains(#""error":"#) { ready?.fail(BenchError(text)) } else { ready?.succeed() }
                    ready = nil
                }
                return
            }
            var found = 0
            for place in bytes.indices where bytes[place] == Watcher.mark { found += 1 }
            if found == 0 { return }
            count += found
            let now = ContinuousClock.now
            arrivals.append(Arrival(count: count, time: now))
            tally.add(found, at: now)
        }

        func channelInactive(context: ChannelHandlerContext) {
            ready?.fail(ChannelError.eof)
            ready = nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
