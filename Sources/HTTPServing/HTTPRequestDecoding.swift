import Concurrency
import NIOCore
import NIOHTTP1

/// A channel handler that decodes one request at a time. It reads and decodes the next request only after the response to
/// the last, and keeps the bytes that follow an upgrade request for the new protocol's handlers.
final class HTTPRequestDecoding: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case decoding

        /// A request is complete and has no response yet.
        case awaitingResponse

        /// All further input is ignored.
        case discarding
    }

    private var parser: HTTPRequestParser
    private var state = State.decoding
    private var received = ByteBuffer()
    private var hasPendingRead = false

    /// True if the client has closed its side, and the next handler has yet to process the bytes that came before.
    private var hasPendingInputClosed = false
    private var context: ChannelHandlerContext?

    init(_ bounds: HTTPBounds) { parser = HTTPRequestParser(bounds) }

    /// True if a part of a request has arrived that is not decoded yet.
    var hasBegunRequest: Bool { parser.isWithinRequest || received.readableBytes > 0 }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        TurnBudget.of(context.eventLoop).hasRead()
        if case .discarding = state { return }
        let bytes = Self.unwrapInboundIn(data)
        if received.readableBytes == 0 { received = bytes } else { received.writeImmutableBuffer(bytes) }
        decode(context)
    }

    /// Repeats the event that the client has closed its side once the bytes that came before are decoded.
    ///
    /// - Returns: false if there are none.
    func deferInputClosed() -> Bool {
        guard case .awaitingResponse = state, received.readableBytes > 0 else { return false }
        hasPendingInputClosed = true
        return true
    }

    func read(context: ChannelHandlerContext) {
        if case .awaitingResponse = state { hasPendingRead = true } else { context.read() }
    }

    private func decode(_ context: ChannelHandlerContext) {
        while case .decoding = state {
            do throws(HTTPError) {
                guard let part = try parser.next(from: &received) else { break }
                if case .end = part { state = .awaitingResponse }
                context.fireChannelRead(Self.wrapInboundOut(part))
            } catch {
                discard()
                context.fireErrorCaught(error)
            }
        }
        if received.readableBytes == 0 { received = ByteBuffer() }
    }

    /// Decodes the next request.
    func resume() {
        guard case .awaitingResponse = state, let context else { return }
        state = .decoding
        decode(context)
        if hasBegunRequest { context.fireChannelReadComplete() }
        if case .decoding = state, hasPendingInputClosed {
            hasPendingInputClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        guard hasPendingRead else { return }
        if case .awaitingResponse = state { return }
        hasPendingRead = false
        context.read()
    }

    /// Ignores all further input.
    func discard() {
        state = .discarding
        received = ByteBuffer()
    }

    /// Stops holding back reads, for the handlers of another protocol.
    func allowReads() {
        if case .awaitingResponse = state { state = .decoding }
    }

    /// Passes the bytes that followed the last request to the next handler, and leaves the pipeline.
    func removeFromPipeline() {
        guard let context else { return }
        let rest = received
        discard()
        if rest.readableBytes > 0 {
            context.fireChannelRead(NIOAny(rest))
            context.fireChannelReadComplete()
        }
        if hasPendingInputClosed { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        _ = context.pipeline.syncOperations.removeHandler(context: context)
    }
}
