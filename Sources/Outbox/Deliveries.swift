import Synchronization

/// The deliveries of a worker that are in flight, and their outcomes until they are recorded.
///
/// Outcomes outlive the connection over which their orders came.
final class Deliveries<Order: Sendable, Outcome: Sendable>: Sendable {
    private let maxInFlight: Int
    private let inFlight = Atomic(0)
    private let outcomes = Mutex<[(order: Order, outcome: Outcome)]>([])

    init(maxInFlight: Int) { self.maxInFlight = maxInFlight }

    /// The number of orders that may be leased now.
    var room: Int { maxInFlight - inFlight.load(ordering: .relaxed) }

    /// True if a delivery is in flight.
    var isBusy: Bool { inFlight.load(ordering: .relaxed) > 0 }

    /// Passes leased orders to the task that delivers them.
    func begin(_ orders: [Order], _ leased: AsyncStream<Order>.Continuation) {
        inFlight.add(orders.count, ordering: .relaxed)
        for order in orders { leased.yield(order) }
    }

    /// Delivers an order, and keeps the outcome until it is recorded.
    func perform(_ order: Order, _ deliver: () async -> Outcome) async {
        let outcome = await deliver()
        outcomes.withLock { $0.append((order, outcome)) }
        inFlight.subtract(1, ordering: .relaxed)
    }

    /// Records the outcomes. If `record` fails, they are kept.
    func settle(_ record: ([(order: Order, outcome: Outcome)]) async throws -> Void) async throws {
        let settled = outcomes.withLock { $0 }
        guard !settled.isEmpty else { return }
        try await record(settled)
        // In order; later outcomes follow.
        outcomes.withLock { $0.removeFirst(settled.count) }
    }
}
