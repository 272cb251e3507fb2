/// A semaphore that limits concurrent bodies.
actor AsyncSemaphore {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// The semaphores of which the current task has a place.
    @TaskLocal private static var held: Set<ObjectIdentifier> = []

    init(_ places: Int) { free = places }

    /// Runs a body that takes a place, after those that came before.
    ///
    /// A body within another takes none: tests that hold one while they wait for the next leave few to the others.
    nonisolated func run<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        let id = ObjectIdentifier(self)
        guard !Self.held.contains(id) else { return try await body() }
        await enter()
        do {
            let value = try await Self.$held.withValue(Self.held.union([id]), operation: body)
            await leave()
            return value
        } catch {
            await leave()
            throw error
        }
    }

    private func enter() async {
        if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    private func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
