/// Wakes those who wait for something to change; also those who are cancelled meanwhile.
struct ChangeSignal: Sendable {
    private var waiters: [AsyncStream<Void>.Continuation] = []

    /// Ends at the next signal.
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
