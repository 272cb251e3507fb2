import Testing

/// What did not happen in time.
struct NotInTime: Error, CustomStringConvertible {
    let description: String
}

/// After how long a wait has hung. It is no measure of speed: nothing that goes on takes as long, on the slowest machine
/// and beside every other test.
let watchdogLimit: Duration = .seconds(240)

/// Bounds the wait for an event, so that one which never comes fails its test and does not hang the run.
///
/// - Parameter limit: other than the watchdog's where to be in time is what is promised.
func within<Value: Sendable>(
    _ what: String, limit: Duration = watchdogLimit, _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let value = first else {
            throw NotInTime(description: "waited \(limit) for \(what)")
        }
        return value
    }
}

/// Lets so many bodies run at a time; the others wait in line.
actor Turnstile {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ places: Int) { free = places }

    func enter() async {
        if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
