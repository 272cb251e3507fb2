internal import NIOCore
internal import NIOPosix

/// A connection that only notes when how much came: the same for every server that is measured, so that none pays for
/// its client.
///
/// It is read by the ``WatcherThread``. What is counted are marks: two bytes that stand once in each change, and nowhere
/// else in what is sent.
struct Watcher: Sendable {
    /// The first two bytes of 🌊, with which the texts of measured changes begin. The first alone may also be the length
    /// of a WebSocket's frame.
    static let mark: (UInt8, UInt8) = (0xF0, 0x9F)
    static let markText = "🌊"

    /// So many changes had come at that time.
    struct Arrival: Sendable {
        let count: Int
        let time: ContinuousClock.Instant
    }

    private let counter: MarkCounter

    /// Connects, says something, and returns when its answer has come; all that comes later is counted.
    ///
    /// - Parameter framing: stands between what is said and the connection until the answer has come: what is counted
    ///   then is found in what it would take apart, too.
    static func connect(
        port: Int, group: MultiThreadedEventLoopGroup, saying text: String, until opening: BareConnection.Opening,
        tally: Tally, framing: @escaping @Sendable () -> [any ChannelHandler] = { [] }
    ) async throws -> Watcher {
        let counter = MarkCounter(tally)
        try await BareConnection.open(port: port, group: group, saying: text, until: opening, framing: framing) {
            try WatcherThread.read($0, for: counter)
        }
        return Watcher(counter: counter)
    }

    /// When what came, from the first change on.
    func arrivals() -> [Arrival] { counter.all }

    /// Forgets what came until now.
    func reset() { counter.reset() }

    func close() { counter.end() }
}
