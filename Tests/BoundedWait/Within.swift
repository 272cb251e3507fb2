/// An expected event that did not happen in time.
public struct NotInTime: Error, CustomStringConvertible {
    /// A sentence that names it.
    public let description: String

    /// - Parameter description: A sentence that names it.
    public init(description: String) { self.description = description }
}

/// After how long a wait has hung. It is no measure of speed: nothing that goes on takes as long, on the slowest machine
/// and beside every other test.
public let watchdogLimit: Duration = .seconds(240)

/// Bounds the wait for an event, so that one which never comes fails its test and does not hang the run.
///
/// - Parameter limit: other than the watchdog's where to be in time is what is promised.
public func within<Value: Sendable>(
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
