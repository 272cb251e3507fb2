/// Wakes those who wait for something to change; also those who are cancelled meanwhile.
struct Bell: Sendable {
    private var waiters: [AsyncStream<Void>.Continuation] = []

    /// Ends at the next ring.
    mutating func next() -> AsyncStream<Void> {
        let (stream, waiter) = AsyncStream.makeStream(of: Void.self)
        waiters.append(waiter)
        return stream
    }

    mutating func ring() {
        for waiter in waiters { waiter.finish() }
        waiters = []
    }
}
