import NIOCore
import NIOPosix
import NIOSSL

/// Reads what a server sends on a port, within three seconds.
struct PortProbe {
    let host: String
    let port: Int

    /// The bytes to send before all others, TLS included.
    var preface: [UInt8] = []

    /// A PEM file whose first certificate the server must present over TLS, or nil for no encryption.
    var certificateFile: String?

    private static let group = MultiThreadedEventLoopGroup.singleton
    private static let limit = TimeAmount.seconds(3)

    /// Returns the first line that the server sends, or nil.
    func firstLine() async -> String? { await read(sending: [], upTo: UInt8(ascii: "\n")) }

    /// Returns everything that the server sends in response to a request until it closes the connection, or nil.
    func response(to request: String) async -> String? { await read(sending: Array(request.utf8), upTo: nil) }

    private func read(sending bytes: [UInt8], upTo end: UInt8?) async -> String? {
        let answer = Self.group.any().makePromise(of: ByteBuffer.self)
        do {
            let channel = try await ClientBootstrap(group: Self.group)
                .connectTimeout(Self.limit)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(AnswerCollector(answer, upTo: end))
                    }
                }
                .connect(host: host, port: port).get()
            let deadline = channel.eventLoop.scheduleTask(in: Self.limit) { channel.close(promise: nil) }
            defer {
                deadline.cancel()
                channel.close(promise: nil)
            }
            if !preface.isEmpty { try await channel.writeAndFlush(ByteBuffer(bytes: preface)) }
            if let certificateFile {
                try await channel.eventLoop.submit {
                    try channel.pipeline.syncOperations.addHandler(Self.tls(certificateFile), position: .first)
                }.get()
            }
            if !bytes.isEmpty { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }
            return String(buffer: try await answer.futureResult.get())
        } catch {
            answer.fail(error)
            return nil
        }
    }

    /// Returns a TLS handler that trusts the first certificate of a file only, for any name.
    private static func tls(_ file: String) throws -> NIOSSLClientHandler {
        let own = try NIOSSLCertificate.fromPEMFile(file).first
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .noHostnameVerification
        return try NIOSSLClientHandler(context: NIOSSLContext(configuration: configuration), serverHostname: nil) {
            chain, answer in
            answer.succeed(own != nil && chain.first == own ? .certificateVerified : .failed)
        }
    }
}

/// Collects bytes until one of a value, or until the peer closes the connection.
private final class AnswerCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let promise: EventLoopPromise<ByteBuffer>
    private let end: UInt8?
    private var answer = ByteBuffer()

    init(_ promise: EventLoopPromise<ByteBuffer>, upTo end: UInt8?) {
        self.promise = promise
        self.end = end
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        // A longer answer is not Postline's.
        if answer.readableBytes < 65_536 { answer.writeBuffer(&bytes) }
        if let end, let count = answer.readableBytesView.firstIndex(of: end) {
            promise.succeed(answer.getSlice(at: answer.readerIndex, length: count - answer.readerIndex) ?? answer)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { promise.succeed(answer) }
}
