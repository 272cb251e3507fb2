import ChangeFeed
import NIOCore
import NIOPosix

/// A connection that only counts arrivals, the same for every measured server so that all have equal clients.
///
/// The ``WatcherThread`` reads it. It counts marks: two bytes that each change contains once.
struct Watcher: Sendable {
    /// The first two bytes of 🌊, with which texts of measured changes begin. The first alone could be the length of a
    /// WebSocket frame.
    static let mark: (UInt8, UInt8) = (0xF0, 0x9F)
    static let markText = "🌊"

    /// The number of changes at a time.
    struct Arrival: Sendable {
        let count: Int
        let time: ContinuousClock.Instant
    }

    private let counter: MarkCounter

    /// Connects, sends a request, and returns after its response. Later arrivals are counted.
    ///
    /// - Parameter framing: the framing until the response. Marks are found within frames, too.
    static func connect(
        port: Int, group: MultiThreadedEventLoopGroup, saying text: String, until opening: RawConnection.Opening,
        tally: Tally, framing: @escaping @Sendable () -> [any ChannelHandler] = { [] }
    ) async throws -> Watcher {
        let counter = MarkCounter(tally)
        try await RawConnection.open(port: port, group: group, saying: text, until: opening, framing: framing) {
            try WatcherThread.read($0, for: counter)
        }
        return Watcher(counter: counter)
    }

    /// Returns the arrivals since the first change.
    func arrivals() -> [Arrival] { counter.all }

    /// Resets the count.
    func reset() { counter.reset() }

    func close() { counter.end() }
}
