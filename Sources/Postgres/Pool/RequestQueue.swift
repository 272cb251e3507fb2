/// The requests that wait for a connection, in the order in which they came.
///
/// Leaving from the middle is cheap: the place stays empty until the front has come to it.
struct RequestQueue {
    private struct Entry {
        let id: Int
        let deadline: ContinuousClock.Instant
    }

    private var places: [Entry] = []
    private var front = 0
    private var present: Set<Int> = []

    var count: Int { present.count }

    /// The end of the first wait to end, wherever its request stands.
    var earliestDeadline: ContinuousClock.Instant? {
        places[front...].lazy.filter { present.contains($0.id) }.map(\.deadline).min()
    }

    /// Adds a request at the end; its id has not been used before.
    mutating func append(_ id: Int, until deadline: ContinuousClock.Instant) {
        places.append(Entry(id: id, deadline: deadline))
        present.insert(id)
    }

    /// Takes the one who has waited longest.
    mutating func popFirst() -> Int? {
        while front < places.count {
            let id = places[front].id
            front += 1
            if front == places.count || front > 1_024 {
                places.removeFirst(front)
                front = 0
            }
            if present.remove(id) != nil { return id }
        }
        return nil
    }

    /// Takes one out.
    ///
    /// - Returns: Whether it was there.
    mutating func remove(_ id: Int) -> Bool { present.remove(id) != nil }

    /// Takes out those whose time is over, in order.
    mutating func removeExpired(now: ContinuousClock.Instant) -> [Int] {
        let expired = places[front...].filter { $0.deadline <= now && present.contains($0.id) }.map(\.id)
        for id in expired { present.remove(id) }
        // Those who stay close up, so that a pool that gives no connection for long does not gather empty places.
        places = places[front...].filter { present.contains($0.id) }
        front = 0
        return expired
    }
}
