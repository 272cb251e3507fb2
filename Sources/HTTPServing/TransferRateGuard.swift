package import Foundations
package import NIOCore
import Synchronization

/// Limits the rate of all large uploads, or of all downloads, together while the server handles requests, so that
/// requests keep most of the processors and the disk. Transfers are unlimited while the server is otherwise idle.
///
/// Client addresses with transfers in progress have equal shares of the rate, so none can delay the others' transfers.
package final class TransferRateGuard: Sendable {
    /// The longest delay after a piece. It bounds how long an address waits after it has requested too much.
    static let maxDelay = TimeAmount.seconds(8)

    private struct State {
        /// The end of the transfers so far of each address, at its share of the rate.
        var ends: [AddressKey: NIODeadline] = [:]

        /// The time at which addresses without transfers are removed next.
        var cleanup = NIODeadline.distantPast
    }

    private let isBusy: @Sendable () -> Bool
    private let bytesPerSecond: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - bytesPerSecond: the rate of all transfers together while the server is busy.
    ///   - isBusy: returns true if the server is handling requests.
    package init(bytesPerSecond: Int, isBusy: @escaping @Sendable () -> Bool) {
        self.bytesPerSecond = bytesPerSecond
        self.isBusy = isBusy
    }

    /// Returns the time for which a client's address waits after a transfer of `bytes` before the next.
    package func delay(after bytes: Int, of address: AddressKey, now: NIODeadline = .now()) -> TimeAmount {
        guard isBusy() else { return .zero }
        return state.withLock { state in
            if now >= state.cleanup {
                state.ends = state.ends.filter { $0.value > now }
                state.cleanup = now + .milliseconds(100)
            }
            let start = max(state.ends[address] ?? now, now)
            state.ends[address] = start
            let time = TimeAmount.nanoseconds(Int64(bytes) * 1_000_000_000 / Int64(bytesPerSecond))
            let delay = min(start - now + time * state.ends.count, Self.maxDelay)
            state.ends[address] = now + delay
            return delay
        }
    }
}
