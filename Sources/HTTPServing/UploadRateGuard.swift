package import NIOCore
import Synchronization

/// Limits the rate of all large uploads together while the server handles requests, so that requests keep most of the
/// processors and the disk. Uploads are unlimited while the server is otherwise idle.
package final class UploadRateGuard: Sendable {
    private let isBusy: @Sendable () -> Bool
    private let bytesPerSecond: Int
    private let availableAt = Mutex(NIODeadline.distantPast)

    /// - Parameters:
    ///   - bytesPerSecond: the rate of all uploads together while the server is busy. 250 Mbit/s cost a tenth of a processor.
    ///   - isBusy: returns true if the server is handling requests.
    package init(bytesPerSecond: Int = 32 << 20, isBusy: @escaping @Sendable () -> Bool) {
        self.bytesPerSecond = bytesPerSecond
        self.isBusy = isBusy
    }

    /// Returns the time to wait after reading `bytes` before reading more.
    package func delay(after bytes: Int, now: NIODeadline = .now()) -> TimeAmount {
        guard isBusy() else { return .zero }
        return availableAt.withLock { availableAt in
            availableAt = max(availableAt, now) + .nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(bytesPerSecond))
            return availableAt - now
        }
    }
}
