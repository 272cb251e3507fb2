import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOSSL
import Concurrency

/// The received lines of a connection: the first for the task that opens it, all others for the connection's actor.
final class Inbox: Sendable {
    private struct State {
        var waiting: [Data] = []
        var reader: LineConnection?
        var first: CheckedContinuation<Result<Data, PostlineError>, Never>?
        var failure: (any Error)?
        var isClosed = false
    }

    private let state = NIOLockedValueBox(State())

    /// Waits for the first line of a connection that is being opened, and returns it with the channel. After the
    /// timeout or a cancellation the connection is closed as soon as it is open.
    func firstLine(of opening: EventLoopFuture<any Channel>, within timeout: Duration) async throws -> (
        any Channel, Data
    ) {
        opening.whenFailure { error in
            self.failed(error)
            self.abandon()
        }
        let deadline = opening.eventLoop.scheduleTask(in: timeout.timeAmount) { self.abandon() }
        defer { deadline.cancel() }
        do {
            let line = try await withTaskCancellationHandler {
                await withSuspension { waiter in
                    state.withLockedValue { state -> Suspension<Result<Data, PostlineError>> in
                        if !state.waiting.isEmpty { return .resume(.success(state.waiting.removeFirst())) }
                        if state.isClosed { return .resume(.failure(Self.connectError(for: state.failure))) }
                        state.first = waiter
                        return .suspend
                    }
                }
            } onCancel: {
                abandon()
            }.get()
            // A line has arrived, so the channel is open.
            return (try await opening.get(), line)
        } catch {
            opening.whenSuccess { $0.close(promise: nil) }
            throw error
        }
    }

    /// Stops waiting for the first line.
    private func abandon() {
        let (first, failure) = state.withLockedValue { state in
            defer { (state.first, state.isClosed) = (nil, true) }
            return (state.first, state.failure)
        }
        first?.resume(returning: .failure(Self.connectError(for: failure)))
    }

    /// Delivers all further lines to the reader, whose actor runs on this channel's event loop. The channel reads
    /// nothing after the first line until the reader resumes it.
    func deliver(to reader: LineConnection) {
        let (lines, isClosed) = state.withLockedValue { state in
            defer { state.waiting = [] }
            state.reader = reader
            return (state.waiting, state.isClosed)
        }
        reader.assumeIsolated { reader in
            for line in lines { reader.received(line) }
            if isClosed { reader.closed() }
        }
    }

    /// Delivers a line. Called on the channel's event loop.
    func received(_ line: Data) {
        let (first, reader) = state.withLockedValue {
            state -> (CheckedContinuation<Result<Data, PostlineError>, Never>?, LineConnection?) in
            if let first = state.first {
                state.first = nil
                return (first, nil)
            }
            if let reader = state.reader { return (nil, reader) }
            state.waiting.append(line)
            return (nil, nil)
        }
        first?.resume(returning: .success(line))
        reader?.assumeIsolated { $0.received(line) }
    }

    /// Records the error of a connection that is about to close.
    func failed(_ error: any Error) {
        state.withLockedValue { $0.failure = $0.failure ?? error }
    }

    /// Records the end of the connection.
    func closed() {
        let (first, reader, failure) = state.withLockedValue { state in
            defer { (state.first, state.reader, state.isClosed) = (nil, nil, true) }
            return (state.first, state.reader, state.failure)
        }
        first?.resume(returning: .failure(Self.connectError(for: failure)))
        reader?.assumeIsolated { $0.closed() }
    }

    /// Returns the error of a connection that ended without a first line.
    private static func connectError(for failure: (any Error)?) -> PostlineError {
        switch failure {
        case let error as NIOSSLError where "\(error)".contains("CERTIFICATE_VERIFY_FAILED"):
            untrusted("its certificate is not from an authority that this device trusts, or is not valid now")
        case is NIOSSLExtraError: untrusted("its certificate is for another name")
        case is NIOSSLError, is BoringSSLError: untrusted("the handshake failed")
        case let error as PostlineError: error
        default:
            PostlineError(
                .offline,
                "The server closed the connection before its hello. Check that the port is its line port, without TLS.",
                isRetryable: true)
        }
    }

    private static func untrusted(_ reason: String) -> PostlineError {
        PostlineError(.notTrusted, "No trusted connection can be made to the server: \(reason).")
    }
}

/// A channel handler that delivers lines to an inbox.
final class InboxHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let inbox: Inbox
    private var hasRead = false

    init(_ inbox: Inbox) { self.inbox = inbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Reading stops after the first line, because further lines have no reader yet.
        if !hasRead { _ = context.channel.setOption(.autoRead, value: false) }
        hasRead = true
        inbox.received(Data(Self.unwrapInboundIn(data).readableBytesView))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        inbox.failed(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.closed()
    }
}
