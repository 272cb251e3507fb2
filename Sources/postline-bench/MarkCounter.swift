import Synchronization

/// The arrivals of one watcher.
final class MarkCounter: Sendable {
    private struct State {
        /// The socket, while it is read.
        var socket: CInt?
        var count = 0
        var arrivals: [Watcher.Arrival] = []
    }

    private let tally: Tally
    private let state = Mutex(State())

    init(_ tally: Tally) { self.tally = tally }

    var all: [Watcher.Arrival] { state.withLock { $0.arrivals } }

    func reset() {
        state.withLock { state in
            state.count = 0
            state.arrivals = []
        }
    }

    func begin(_ socket: CInt) { state.withLock { $0.socket = socket } }

    /// - Parameter found: the number of new arrivals, or nil at the end.
    func note(_ found: Int?) {
        guard let found else { return state.withLock { $0.socket = nil } }
        let now = ContinuousClock.now
        state.withLock { state in
            state.count += found
            state.arrivals.append(Watcher.Arrival(count: state.count, time: now))
        }
        tally.add(found, at: now)
    }

    func end() {
        state.withLock { state in
            if let socket = state.socket { WatcherThread.end(socket) }
        }
    }
}
