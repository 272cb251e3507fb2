package import NIOCore
import Synchronization

/// Limits the rate of all large uploads, or of all downloads, together while the server handles requests, so that
/// requests keep most of the processors and the disk. Transfers are unlimited while the server is otherwise idle.
package final class TransferRateGuard: Sendable {
    private let isBusy: @Sendable () -> Bool
    private let bytesPerSecond: Int
    private let availableAt = Mutex(NIODeadline.distantPast)

    /// - Parameters:
    ///   - bytesPerSecond: the rate of all transfers together while the server is busy.
    ///   - isBusy: returns true if the server is handling requests.
    package init(bytesPerSecond: Int, isBusy: @escaping @Sendable () -> Bool) {
        self.bytesPerSecond = bytesPerSecond
        self.isBusy = isBusy
    }

    /// Returns the time to wait after a transfer of `bytes` before the next.
    package func delay(after bytes: Int, now: NIODeadline = .now()) -> TimeAmount {
        guard isBusy() else { return .zero }
        return availableAt.withLock { availableAt in
            availableAt = max(availableAt, now) + .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(bytesPerSecond))
            return availableAt - now
        }
    }
}
