/// What the composed system must hold to, and how that is tested.
struct Promise: Sendable {
    let sentence: String

    /// Throws where it is not.
    let isKept: @Sendable (ComposedSystem) async throws -> Void

    static let all: [Promise] = [.spread, .liveAcrossNodes, .resumed, .writtenBySQL, .addressesAreTheClients]
}

/// A promise that was not kept.
struct Broken: Error, CustomStringConvertible {
    let description: String
}

func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws {
    if !condition { throw Broken(description: otherwise()) }
}

/// Bounds the wait for an event, so that one which never comes breaks its promise and does not hang the run.
func within<Value: Sendable>(
    _ what: String, limit: Duration = .seconds(60), _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let value = first else {
            throw Broken(description: "waited \(limit) for \(what)")
        }
        return value
    }
}
