package import NIOCore
package import NIOHTTP1
import NIOPosix

/// What takes the body of a request as it comes, where it is too large to be held.
package protocol HTTPBodyReceiver: Sendable {
    /// Takes the next bytes. It may wait for a disk; calls come one after another.
    func write(_ bytes: ByteBuffer) throws

    /// The rest does not come, or is not wanted: nothing of it stays.
    func discard()
}

/// Why a request is refused before anybody has seen its body.
package struct HTTPRefusal: Error {
    package let status: HTTPResponseStatus

    /// A sentence for a person.
    package let why: String

    /// The query or header field that is wrong, if it is one.
    package let field: String?

    package init(_ status: HTTPResponseStatus, _ why: String, field: String? = nil) {
        self.status = status
        self.why = why
        self.field = field
    }
}

/// The body that one connection is just taking: it holds what its receiver has not taken yet. It lives on the connection's
/// event loop.
final class HTTPBodyInFlight {
    let receiver: any HTTPBodyReceiver
    private let loop: any EventLoop
    private let pace: BodyPace
    private let onProgress: (HTTPBodyInFlight) -> Void
    private var waiting = ByteBuffer()
    private var isWriting = false
    private var isResting = false

    /// Whether all of it has come.
    private(set) var isWhole = false

    /// Why the receiver does not take it.
    private(set) var failure: (any Error)?

    /// How much may wait before no more is read, in bytes.
    private static let mostWaiting = 1 << 18

    init(
        _ receiver: any HTTPBodyReceiver, on loop: any EventLoop, pace: BodyPace,
        onProgress: @escaping (HTTPBodyInFlight) -> Void
    ) {
        self.receiver = receiver
        self.loop = loop
        self.pace = pace
        self.onProgress = onProgress
        // Of a hundred that begin at once each has its turn, too.
        rest(after: Self.mostWaiting)
    }

    /// Whether more of it is wanted now.
    var takesMore: Bool { waiting.readableBytes < Self.mostWaiting && !isResting }

    /// Whether the receiver has all of it.
    var isTaken: Bool { isWhole && !isWriting && waiting.readableBytes == 0 && failure == nil }

    func take(_ bytes: ByteBuffer) {
        waiting.writeImmutableBuffer(bytes)
        writeOn()
    }

    func end() { isWhole = true }

    func discard() {
        waiting = ByteBuffer()
        let receiver = self.receiver
        NIOThreadPool.singleton.submit { _ in receiver.discard() }
    }

    private func writeOn() {
        guard !isWriting, failure == nil, waiting.readableBytes > 0 else { return }
        isWriting = true
        let (bytes, receiver) = (waiting, self.receiver)
        waiting = ByteBuffer()
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try receiver.write(bytes) }.assumeIsolated()
            .whenComplete { result in
                self.isWriting = false
                self.rest(after: bytes.readableBytes)
                if case .failure(let error) = result { self.failure = error }
                self.writeOn()
                self.onProgress(self)
            }
    }

    private func rest(after bytes: Int) {
        let time = pace.rest(after: bytes)
        guard time >= .milliseconds(1), !isResting, !isWhole else { return }
        isResting = true
        loop.assumeIsolated().scheduleTask(in: time) {
            self.isResting = false
            self.onProgress(self)
        }
    }
}
