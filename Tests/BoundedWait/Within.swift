/// The error of a wait that took too long.
package struct TimeoutError: Error, CustomStringConvertible {
    /// A sentence that names the awaited event.
    package let description: String

    package init(description: String) { self.description = description }
}

/// The time after which a wait is considered hung. It is no measure of speed: nothing that works takes as long, even on
/// the slowest machine beside every other test.
package let watchdogLimit: Duration = .seconds(600)

/// Limits the wait for an event, so that a missing event fails its test instead of hanging the run.
///
/// - Parameter limit: A shorter limit, for tests of a deadline.
package func within<Value: Sendable>(
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
            throw TimeoutError(description: "waited \(limit) for \(what)")
        }
        return value
    }
}
