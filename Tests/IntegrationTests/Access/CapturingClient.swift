import BoundedWait
import LineClient
import NIOCore
import NIOPosix
import WireProtocol

/// A client that stores every received byte, and interprets only line ends.
actor CapturingClient {
    private let channel: any Channel
    private var lines: AsyncStream<[UInt8]>.Iterator
    private var captured: [[UInt8]] = []
    private var lastID = 0

    static func connect(port: Int) async throws -> CapturingClient {
        let (lines, source) = AsyncStream.makeStream(of: [UInt8].self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Cutter(source))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return CapturingClient(channel, lines)
    }

    private init(_ channel: any Channel, _ lines: AsyncStream<[UInt8]>) {
        self.channel = channel
        self.lines = lines.makeAsyncIterator()
    }

    func close() async { try? await channel.close().get() }

    /// Sends a request, reads up to its response, and returns that line.
    @discardableResult
    func call(_ method: String, _ params: JSONObject) async throws -> String {
        let id = try await send(method, params)
        return try await read(to: #"{"jsonrpc":"2.0","id":\#(id),"#, "the answer of \(method)")
    }

    /// Sends a request, and returns its id.
    private func send(_ method: String, _ params: JSONObject) async throws -> String {
        lastID += 1
        let id = "\"request-\(lastID)\""
        let line = #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params.text)}"#
        try await channel.writeAndFlush(ByteBuffer(string: line + "\n")).get()
        return id
    }

    /// Reads up to a line that contains the text, including the lines since the last `take`. Syncs anew if the server
    /// asks for it.
    @discardableResult
    func read(to text: String, _ what: String) async throws -> String {
        for line in captured.reversed() {
            let line = String(decoding: line, as: UTF8.self)
            if line.contains(text) { return line }
        }
        // It is cancelled once the line has arrived; otherwise it ends the wait.
        let watch = Task { [channel] in
            try await Task.sleep(for: watchdogLimit)
            channel.close(promise: nil)
        }
        defer { watch.cancel() }
        while true {
            var iterator = lines
            let next = await iterator.next(isolation: self)
            lines = iterator
            guard let next else { throw TimeoutError(description: "the connection ended before \(what)") }
            captured.append(next)
            let line = String(decoding: next, as: UTF8.self)
            // As of a block: nothing more is pushed before the view is read again.
            if line.contains(#""method":"sync.lagged""#) { _ = try await send("sync.open", [:]) }
            if line.contains(text) { return line }
        }
    }

    /// Returns the lines since the last call.
    func take() -> [[UInt8]] {
        defer { captured = [] }
        return captured
    }

    /// A handler that splits input into lines, with nothing removed. Confined to the channel's event loop.
    private final class Cutter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let source: AsyncStream<[UInt8]>.Continuation
        private var line: [UInt8] = []

        init(_ source: AsyncStream<[UInt8]>.Continuation) { self.source = source }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            line += Self.unwrapInboundIn(data).readableBytesView
            guard line.last == UInt8(ascii: "\n") || line.contains(UInt8(ascii: "\n")) else { return }
            var parts = line.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            line = Array(parts.removeLast())
            for part in parts { source.yield(Array(part)) }
        }

        func channelInactive(context: ChannelHandlerContext) {
            source.yield(line)
            source.finish()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
