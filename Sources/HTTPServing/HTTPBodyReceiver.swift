import Foundations
package import NIOCore
package import NIOHTTP1
import NIOPosix

/// The destination of a request body that is too large to buffer.
package protocol HTTPBodyReceiver: Sendable {
    /// Writes the next bytes. May block on a disk; calls never overlap.
    func write(_ bytes: ByteBuffer) throws

    /// Deletes everything received: the rest of the body will not arrive, or was rejected.
    func discard()

    /// The reason why it rejected the body, as a sentence for the client; nil for a failure of the server.
    var refusal: String? { get }
}

/// An error response that the HTTP server sends before any handler receives the request.
package struct HTTPError: Error {
    package let status: HTTPResponseStatus

    /// A sentence for a human reader.
    package let message: String

    /// The invalid query or header field; nil if the error is about no single field.
    package let field: String?

    package init(_ status: HTTPResponseStatus, _ message: String, field: String? = nil) {
        self.status = status
        self.message = message
        self.field = field
    }
}

/// A request body that streams to its receiver. It buffers the bytes that the receiver has not written yet, and is confined
/// to the connection's event loop.
final class HTTPStreamingBody {
    let receiver: any HTTPBodyReceiver
    private let loop: any EventLoop
    private let rateGuard: TransferRateGuard
    private let address: AddressKey
    private let onProgress: (HTTPStreamingBody) -> Void
    private var buffered = ByteBuffer()
    private var isWriting = false
    private var isPaused = false

    /// True once the whole body has arrived.
    private(set) var hasEnded = false

    /// The error with which the receiver rejected the body.
    private(set) var failure: (any Error)?

    /// The buffered bytes at which reading from the socket stops.
    private static let maxBufferedBytes = 1 << 18

    /// - Parameters:
    ///   - address: the client's address.
    ///   - bytes: the declared size.
    init(
        _ receiver: any HTTPBodyReceiver, from address: AddressKey, bytes: Int, on loop: any EventLoop,
        rateGuard: TransferRateGuard, onProgress: @escaping (HTTPStreamingBody) -> Void
    ) {
        self.receiver = receiver
        self.loop = loop
        self.rateGuard = rateGuard
        self.address = address
        self.onProgress = onProgress
        // Also spreads a hundred uploads that begin at the same moment.
        pause(after: min(bytes, Self.maxBufferedBytes))
    }

    /// True if the connection may read more of the body now.
    var acceptsMore: Bool { buffered.readableBytes < Self.maxBufferedBytes && !isPaused }

    /// True if the receiver has written the whole body.
    var isComplete: Bool { hasEnded && !isWriting && buffered.readableBytes == 0 && failure == nil }

    func append(_ bytes: ByteBuffer) {
        buffered.writeImmutableBuffer(bytes)
        writeNext()
    }

    func end() { hasEnded = true }

    func discard() {
        buffered = ByteBuffer()
        let receiver = self.receiver
        NIOThreadPool.singleton.submit { _ in receiver.discard() }
    }

    private func writeNext() {
        guard !isWriting, failure == nil, buffered.readableBytes > 0 else { return }
        isWriting = true
        let (bytes, receiver) = (buffered, self.receiver)
        buffered = ByteBuffer()
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try receiver.write(bytes) }.assumeIsolated()
            .whenComplete { result in
                self.isWriting = false
                self.pause(after: bytes.readableBytes)
                if case .failure(let error) = result { self.failure = error }
                self.writeNext()
                self.onProgress(self)
            }
    }

    private func pause(after bytes: Int) {
        let time = rateGuard.delay(after: bytes, of: address)
        guard time >= .milliseconds(1), !isPaused, !hasEnded else { return }
        isPaused = true
        loop.assumeIsolated().scheduleTask(in: time) {
            self.isPaused = false
            self.onProgress(self)
        }
    }
}
