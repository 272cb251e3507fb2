/// A semaphore that limits the concurrent bodies of tests.
actor AsyncSemaphore {
    private var free: Int
    private var waiting: [(suite: String, continuation: CheckedContinuation<Void, Never>)] = []
    private var begunSuites: Set<String> = []

    /// The semaphores of which the current task has a place.
    @TaskLocal private static var held: Set<ObjectIdentifier> = []

    init(_ places: Int) { free = places }

    /// Runs a body that takes a place.
    ///
    /// Bodies of suites that have begun go first: after each of its tests, a serialized suite would wait for all others.
    /// A body within another takes no place: tests that hold one while they wait for the next leave few to the others.
    nonisolated func run<Value: Sendable>(
        of suite: String, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let id = ObjectIdentifier(self)
        guard !Self.held.contains(id) else { return try await body() }
        await enter(suite)
        do {
            let value = try await Self.$held.withValue(Self.held.union([id]), operation: body)
            await leave()
            return value
        } catch {
            await leave()
            throw error
        }
    }

    private func enter(_ suite: String) async {
        if free > 0 {
            free -= 1
            begunSuites.insert(suite)
        } else {
            await withCheckedContinuation { waiting.append((suite, $0)) }
        }
    }

    private func leave() {
        guard !waiting.isEmpty else { return free += 1 }
        let next = waiting.remove(at: waiting.firstIndex { begunSuites.contains($0.suite) } ?? 0)
        begunSuites.insert(next.suite)
        next.continuation.resume()
    }
}
