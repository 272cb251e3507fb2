package import NIOCore
internal import Synchronization

/// How fast large bodies are taken, all together: as fast as they come where nothing else is asked of the server, and at a
/// steady pace beside requests, which have processors and the disk's log to themselves the rest of the time.
package final class BodyPace: Sendable {
    private let isBusy: @Sendable () -> Bool
    private let bytesPerSecond: Int
    private let next = Mutex(NIODeadline.distantPast)

    /// - Parameters:
    ///   - bytesPerSecond: of all bodies beside requests. What 250 Mbit/s bring is a tenth of a processor's work.
    ///   - isBusy: whether there are requests.
    package init(bytesPerSecond: Int = 32 << 20, isBusy: @escaping @Sendable () -> Bool) {
        self.bytesPerSecond = bytesPerSecond
        self.isBusy = isBusy
    }

    /// How long whoever has taken so many bytes waits before it takes more.
    package func rest(after bytes: Int, now: NIODeadline = .now()) -> TimeAmount {
        guard isBusy() else { return .zero }
        return next.withLock { next in
            next = max(next, now) + .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(bytesPerSecond))
            return next - now
        }
    }
}
