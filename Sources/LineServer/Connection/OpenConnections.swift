import Synchronization

/// A counter of the connections that a server must wait for before it ends.
package final class OpenConnections: Sendable {
    private struct State {
        var count = 0
        var isClosing = false
    }

    private let state = Mutex(State())
    private let over = AsyncPromise<Void>()

    package init() {}

    /// Counts a new connection.
    package func enter() { state.withLock { $0.count += 1 } }

    /// Counts the end of a connection and all its work.
    package func leave() {
        change { $0.count -= 1 }
    }

    /// Waits until the number of connections is zero.
    package func haveEnded() async {
        change { $0.isClosing = true }
        // This never fails.
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
