import NIOCore
import NIOPosix

/// Uploads bytes to a local address on its own connection.
enum UploadClient {
    /// The size of the pieces written to the socket.
    private static let part = 1 << 18

    /// Uploads and returns once the response has arrived.
    ///
    /// - Parameter target: the address's path and query.
    /// - Throws: `BenchError` if the upload was refused.
    static func put(
        _ body: ByteBuffer, _ type: String, to target: String, port: Int, group: MultiThreadedEventLoopGroup
    ) async throws {
        let channel = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
        let head =
            "PUT \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \(type)\r\n"
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

    /// Returns once a server listens on the port.
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
