/// Waits for a condition that no event announces: evaluates it, and again every 10 ms until it holds.
///
/// A test waits for an event where there is one. This is for the state of another actor: a log, a metric, a file, a row.
///
/// - Parameter what: names the condition, for the error.
/// - Throws: ``TimeoutError`` if it does not hold before the watchdog's limit, and each error of the condition at once.
public func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
    _ = try await eventually(what) { try await condition() ? true : nil }
}

/// Waits for a value that no event announces, as for a condition, and returns it.
public func eventually<Value>(_ what: String, _ value: () async throws -> Value?) async throws -> Value {
    let end = ContinuousClock.now + watchdogLimit
    while true {
        if let value = try await value() { return value }
        guard ContinuousClock.now < end else {
            throw TimeoutError(description: "waited \(watchdogLimit) for \(what)")
        }
        try await Task.sleep(for: .milliseconds(10))
    }
}
