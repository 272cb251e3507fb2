/// A signal that wakes all tasks that wait for a change, including cancelled ones.
struct ChangeSignal: Sendable {
    private var waiters: [AsyncStream<Void>.Continuation] = []

    /// Returns a stream that ends at the next signal.
    mutating func next() -> AsyncStream<Void> {
        let (stream, waiter) = AsyncStream.makeStream(of: Void.self)
        waiters.append(waiter)
        return stream
    }

    mutating func signal() {
        for waiter in waiters { waiter.finish() }
        waiters = []
    }
}
