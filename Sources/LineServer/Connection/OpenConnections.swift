import Synchronization

/// A counter of the connections that a server must wait for before it ends.
package final class OpenConnections: Sendable {
    private struct State {
        var count = 0
        var isClosing = false
    }

    private let state = Mutex(State())
    private let over = AsyncPromise<Void>()

    /// The time that connections have after they were cut.
    private let cutTimeout: Duration

    package init(cutTimeout: Duration = .seconds(2)) { self.cutTimeout = cutTimeout }

    /// The number of connections that have not ended.
    package var count: Int { state.withLock(\.count) }

    /// Counts a new connection.
    package func enter() { state.withLock { $0.count += 1 } }

    /// Counts the end of a connection and all its work.
    package func leave() {
        change { $0.count -= 1 }
    }

    /// Waits until the number of connections is zero. After a cancellation, for which the server has cut them, it waits
    /// 2 s at most: one that does not end must not keep the process.
    package func haveEnded() async {
        change { $0.isClosing = true }
        await withTaskCancellationHandler {
            // This never fails.
            try? await over.value()
        } onCancel: {
            // Outlives the cancelled task by two seconds, and then changes nothing if all have ended.
            Task { [over, cutTimeout] in
                try? await Task.sleep(for: cutTimeout)
                over.succeed(())
            }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let isOver = state.withLock { state in
            body(&state)
            return state.isClosing && state.count == 0
        }
        if isOver { over.succeed(()) }
    }
}
