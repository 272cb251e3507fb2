internal import NIOCore
internal import NIOPosix

/// Puts bytes to an address of this machine, on a connection of its own.
enum UploadClient {
    /// How much of a body is handed to the socket at once.
    private static let part = 1 << 18

    /// Returns when it was answered.
    ///
    /// - Parameter target: the address's path and query.
    /// - Throws: `BenchError` where it was not taken.
    static func put(
        _ body: ByteBuffer, to target: String, port: Int, group: MultiThreadedEventLoopGroup
    ) async throws {
        let channel = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        let head =
            "PUT \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: image/png\r\n"
            + "Content-Length: \(body.readableBytes)\r\n\r\n"
        let answer = try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: head))
            var rest = body
            while let part = rest.readSlice(length: min(part, rest.readableBytes)), part.readableBytes > 0 {
                try await outbound.write(part)
            }
            for try await answer in inbound { return String(buffer: answer) }
            return ""
        }
        guard answer.hasPrefix("HTTP/1.1 20") else { throw BenchError("An upload was answered with: \(answer)") }
    }

    /// Returns when somebody listens there.
    static func awaitServer(port: Int) async throws {
        for _ in 0..<50 {
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            if let channel = try? await bootstrap.connect(host: "127.0.0.1", port: port).get() {
                return try await channel.close().get()
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchError("nginx does not serve. Is it installed? `make bench` installs it where it can.")
    }
}
