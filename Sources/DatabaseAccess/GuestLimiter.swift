import Foundations
import Postgres
import Synchronization
import WireProtocol

/// Limits the concurrent database requests of all guests at one client address.
///
/// Each user has a share of the pool, but an address can create 60 guests a minute: 100 guests that searched at the same
/// time delayed the requests of others from 2 to 809 ms.
final class GuestLimiter: Sendable {
    private struct Entry {
        let limiter: ConcurrencyLimiter
        var requests = 0
    }

    private let width: Int
    private let reactor: Reactor

    /// The limiters of addresses that have requests.
    private let entries = Mutex<[AddressKey: Entry]>([:])

    /// - Parameters:
    ///   - width: the maximum concurrency of an address.
    ///   - reactor: the thread of the database's connections.
    init(width: Int, on reactor: Reactor) {
        self.width = width
        self.reactor = reactor
    }

    /// The number of addresses that have requests.
    var count: Int { entries.withLock { $0.count } }

    /// Runs `work` when its turn comes. The guests of an address take turns.
    ///
    /// - Throws: `unavailable` after a wait of 30 s, or the error of `work`.
    func run<Value: Sendable>(
        at address: AddressKey, for guest: String, _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        let limiter = entries.withLock { entries in
            var entry = entries[address] ?? Entry(limiter: ConcurrencyLimiter(width: width, on: reactor))
            entry.requests += 1
            entries[address] = entry
            return entry.limiter
        }
        defer { leave(address) }
        return try await limiter.run(for: guest, work)
    }

    private func leave(_ address: AddressKey) {
        entries.withLock { entries in
            entries[address]?.requests -= 1
            if entries[address]?.requests == 0 { entries[address] = nil }
        }
    }
}
