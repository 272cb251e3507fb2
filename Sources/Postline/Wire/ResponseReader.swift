import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// Reads one response, and closes the connection.
final class ResponseReader: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    /// The place for the body of a successful response.
    enum Destination: Sendable {
        /// Nothing but the head is read.
        case head
        case memory(maxBytes: Int)
        case file(PartialFile)
    }

    private let promise: EventLoopPromise<HTTPTransfer.Response>
    private let destination: Destination
    private let progress: @Sendable (TransferProgress) -> Void
    private var response = HTTPTransfer.Response(status: 0)
    private var totalBytes: Int?
    /// The bytes to be written to the file.
    private var unwritten = ByteBuffer()
    private var isWriting = false
    /// The result, once nothing more is read.
    private var result: Result<HTTPTransfer.Response, any Error>?

    init(
        _ promise: EventLoopPromise<HTTPTransfer.Response>, _ destination: Destination,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) {
        self.promise = promise
        self.destination = destination
        self.progress = progress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard result == nil else { return }
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.code >= 200: readHead(head, context)
        case .head: break
        case .body(let part):
            switch destination {
            case .head: break
            case .memory(let maxBytes):
                response.body.append(contentsOf: part.readableBytesView)
                if response.body.count > maxBytes { return end(.failure(Self.tooLarge(maxBytes)), context) }
                progress(TransferProgress(completedBytes: response.body.count, totalBytes: totalBytes))
            case .file: unwritten.writeImmutableBuffer(part)
            }
        case .end where response.status >= 200: end(.success(response), context)
        case .end: break
        }
    }

    private func readHead(_ head: HTTPResponseHead, _ context: ChannelHandlerContext) {
        let headers = head.headers
        response.status = Int(head.status.code)
        response.location = headers.first(name: "Location")
        response.uploadOffset = headers.first(name: "Upload-Offset").flatMap { Int($0) }
        response.isUploadComplete = headers.first(name: "Upload-Complete") == "?1"
        totalBytes = headers.first(name: "Content-Length").flatMap { Int($0) }
        guard response.status < 300 else { return end(.success(response), context) }
        switch destination {
        case .head: end(.success(response), context)
        case .memory(let maxBytes):
            if let totalBytes, totalBytes > maxBytes { end(.failure(Self.tooLarge(maxBytes)), context) }
        case .file(let file):
            do {
                totalBytes = try file.begin(
                    isRange: response.status == 206, contentRange: headers.first(name: "Content-Range"),
                    bytes: totalBytes, entityTag: headers.first(name: "ETag"))
            } catch {
                return end(.failure(error), context)
            }
            // From now on the next part is read once this one is in the file.
            _ = context.channel.setOption(.autoRead, value: false)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        guard case .file(let file) = destination, response.status >= 200 else { return }
        write(to: file, context)
    }

    /// Writes what was read to the file, and then reads more.
    private func write(to file: PartialFile, _ context: ChannelHandlerContext) {
        guard !isWriting else { return }
        guard unwritten.readableBytes > 0 else { return result == nil ? context.read() : finish(context) }
        let part = unwritten
        unwritten.clear()
        isWriting = true
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) { try file.append(part) }
            .assumeIsolated().whenComplete { [self] written in
                isWriting = false
                switch written {
                case .success(let count):
                    progress(TransferProgress(completedBytes: count, totalBytes: totalBytes))
                case .failure(let error):
                    unwritten.clear()
                    result = .failure(error)
                }
                write(to: file, context)
            }
    }

    /// Ends the reading. What was read is written first.
    private func end(_ result: Result<HTTPTransfer.Response, any Error>, _ context: ChannelHandlerContext) {
        self.result = self.result ?? result
        if case .file(let file) = destination { write(to: file, context) } else { finish(context) }
    }

    private func finish(_ context: ChannelHandlerContext) {
        guard let result else { return }
        promise.completeWith(result)
        context.close(promise: nil)
    }

    private static func tooLarge(_ maxBytes: Int) -> PostlineError {
        PostlineError(.fileTooLarge, "The picture has more than \(maxBytes) bytes.", field: "picture")
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { end(.failure(error), context) }

    func channelInactive(context: ChannelHandlerContext) { end(.failure(ChannelError.eof), context) }
}
