/// Polls a condition every 10 ms until it holds, for state that no event announces: a log, a metric, a file, a row.
///
/// - Parameter what: The condition's name in the error.
/// - Throws: ``TimeoutError`` if it does not hold within the watchdog limit, and any error of the condition.
package func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
    _ = try await eventually(what) { try await condition() ? true : nil }
}

/// Polls until a value is not nil, and returns it.
package func eventually<Value>(_ what: String, _ value: () async throws -> Value?) async throws -> Value {
    let end = ContinuousClock.now + watchdogLimit
    while true {
        if let value = try await value() { return value }
        guard ContinuousClock.now < end else {
            throw TimeoutError(description: "waited \(watchdogLimit) for \(what)")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
