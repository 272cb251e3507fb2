import ChangeFeed
import Concurrency
import LineServer
import Synchronization
import WireProtocol

/// The client sink of an HTTP request's session. It receives no pushes, and records that the session has ended for the next
/// request.
final class RequestSink: ClientSink, PushTarget {
    private let loop: LoopExecutor
    private let state = Mutex(State())

    private struct State {
        var hasEnded = false
        var expiry: ContinuousClock.Instant?
    }

    init(on loop: LoopExecutor) { self.loop = loop }

    /// True if the session has ended or its token has expired.
    var hasEnded: Bool {
        state.withLock { state in
            if let expiry = state.expiry, expiry <= .now { return true }
            return state.hasEnded
        }
    }

    var executor: UnownedSerialExecutor {
        // The sink retains the executor.
        unsafe loop.asUnownedSerialExecutor()
    }

    let acceptsPushes = false
    var pushTarget: any PushTarget { self }

    func setExpiry(_ expiry: Expiry?) {
        // Prevents an overflow for tokens that expire in centuries.
        let end = expiry.map { ContinuousClock.now + .seconds(min($0.seconds, 1e9)) }
        state.withLock { $0.expiry = end }
    }

    func goodbye(_ goodbye: Goodbye) { state.withLock { $0.hasEnded = true } }

    func startPushes(cursor: String) {}
    func stopPushes() {}
    func fallBehind() {}
    func noteCursor(_ cursor: String) {}
    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void) { written() }
}
