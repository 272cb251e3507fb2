internal import EventLoops
import NIOCore
import NIOHTTP1

/// The handler that makes requests of bytes, one at a time: the next is decoded once the last is answered, and nothing
/// more is read until then. What follows a request that changes the protocol is kept for the protocol's handlers.
final class HTTPRequestDecoding: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum State {
        case decoding

        /// A request is complete, and not answered yet.
        case holding

        /// Nothing that comes is wanted.
        case discarding
    }

    private var parser: HTTPRequestParser
    private var state = State.decoding
    private var received = ByteBuffer()
    private var isReadOwed = false

    /// True if the client has ended its side, which the next handler hears once it has all that came before.
    private var isEndOwed = false
    private var context: ChannelHandlerContext?

    init(_ bounds: HTTPBounds) { parser = HTTPRequestParser(bounds) }

    /// True if something of a request has come that is not decoded.
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

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event, case .holding = state, received.readableBytes > 0 {
            isEndOwed = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func read(context: ChannelHandlerContext) {
        if case .holding = state { isReadOwed = true } else { context.read() }
    }

    private func decode(_ context: ChannelHandlerContext) {
        while case .decoding = state {
            do throws(HTTPRefusal) {
                guard let part = try parser.next(from: &received) else { break }
                if case .end = part { state = .holding }
                context.fireChannelRead(Self.wrapInboundOut(part))
            } catch {
                discard()
                context.fireErrorCaught(error)
            }
        }
        if received.readableBytes == 0 { received = ByteBuffer() }
    }

    /// Goes on with the next request.
    func resume() {
        guard case .holding = state, let context else { return }
        state = .decoding
        decode(context)
        if hasBegunRequest { context.fireChannelReadComplete() }
        if case .decoding = state, isEndOwed {
            isEndOwed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        guard isReadOwed else { return }
        if case .holding = state { return }
        isReadOwed = false
        context.read()
    }

    /// Ignores all that still comes.
    func discard() {
        state = .discarding
        received = ByteBuffer()
    }

    /// Lets reads pass again, for the handlers of another protocol.
    func allowReads() {
        if case .holding = state { state = .decoding }
    }

    /// Gives the next handler what came after the last request, and leaves the pipeline.
    func leave() {
        guard let context else { return }
        let rest = received
        discard()
        if rest.readableBytes > 0 {
            context.fireChannelRead(NIOAny(rest))
            context.fireChannelReadComplete()
        }
        if isEndOwed { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        _ = context.pipeline.syncOperations.removeHandler(context: context)
    }
}
