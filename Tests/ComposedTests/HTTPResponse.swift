import LineClient
import NIOCore
import NIOPosix
import Postgres

/// A response of a node's operations port.
struct HTTPResponse: Sendable {
    /// The status, or 0 without a response.
    let status: Int
    let body: String

    /// Requests a path.
    static func get(_ path: String, of address: ComposedSystem.Address) async throws -> HTTPResponse {
        let group = MultiThreadedEventLoopGroup.singleton
        let text = group.any().makePromise(of: String.self)
        do {
            let channel = try await ClientBootstrap(group: group)
                .connectTimeout(.seconds(5))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(ResponseCollector(text))
                    }
                }
                .connect(host: address.host, port: address.port).get()
            channel.eventLoop.scheduleTask(in: .seconds(10)) { channel.close(promise: nil) }
            try await channel.writeAndFlush(
                ByteBuffer(string: "GET \(path) HTTP/1.1\r\nHost: \(address.host)\r\nConnection: close\r\n\r\n"))
        } catch {
            // No listener is a result, too.
            text.succeed("")
        }
        let answer = try await text.futureResult.get()
        let head = answer.split(separator: " ", maxSplits: 2)
        return HTTPResponse(
            status: head.count == 3 ? Int(head[1]) ?? 0 : 0,
            body: answer.firstRange(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? "")
    }
}

/// Collects the response until the server closes or its announced length is reached.
private final class ResponseCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var text = ""
    private let promise: EventLoopPromise<String>

    init(_ promise: EventLoopPromise<String>) { self.promise = promise }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
        guard let head = text.firstRange(of: "\r\n\r\n"),
            let length = text[..<head.lowerBound].split(separator: "\r\n").map({ $0.lowercased() })
                .first(where: { $0.hasPrefix("content-length:") })?.split(separator: " ").last.flatMap({ Int($0) }),
            text[head.upperBound...].utf8.count >= length
        else { return }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { promise.succeed(text) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
