internal import EventLoops
import LineServer
import Messaging
import Synchronization

/// What the session of an HTTP request has of its connection: nothing is pushed, and its end is seen by the next request.
final class RequestSink: ClientSink, PushTarget {
    private let loop: LoopExecutor
    private let state = Mutex(State())

    private struct State {
        var isOver = false
        var expiry: ContinuousClock.Instant?
    }

    init(on loop: LoopExecutor) { self.loop = loop }

    /// Whether the session has ended or its token has expired.
    var isOver: Bool {
        state.withLock { state in
            if let expiry = state.expiry, expiry <= .now { return true }
            return state.isOver
        }
    }

    var executor: UnownedSerialExecutor {
        // Kept by this.
        unsafe loop.asUnownedSerialExecutor()
    }

    let acceptsPushes = false
    var pushTarget: any PushTarget { self }

    func setExpiry(_ expiry: Expiry?) {
        // A token may be good for centuries.
        let end = expiry.map { ContinuousClock.now + .seconds(min($0.seconds, 1e9)) }
        state.withLock { $0.expiry = end }
    }

    func goodbye(_ goodbye: Goodbye) { state.withLock { $0.isOver = true } }

    func startPushes(cursor: String) {}
    func stopPushes() {}
    func fallBehind() {}
    func noteCursor(_ cursor: String) {}
    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void) { written() }
}
