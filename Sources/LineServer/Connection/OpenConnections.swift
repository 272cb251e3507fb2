import Synchronization

/// How many connections a server has to wait for at its end.
package final class OpenConnections: Sendable {
    private struct State {
        var count = 0
        var isClosing = false
    }

    private let state = Mutex(State())
    private let over = AsyncPromise<Void>()

    package init() {}

    /// One more is there.
    package func enter() { state.withLock { $0.count += 1 } }

    /// One has ended, with all that was at work for it.
    package func leave() {
        change { $0.count -= 1 }
    }

    /// Lets no more be waited for, and waits until all that came have ended.
    package func haveEnded() async {
        change { $0.isClosing = true }
        // It never fails.
        try? await over.value()
    }

    private func change(_ body: (inout State) -> Void) {
        let isOver = state.withLock { state in
            body(&state)
            return state.isClosing && state.count == 0
        }
        if isOver { over.succeed(()) }
    }
}
