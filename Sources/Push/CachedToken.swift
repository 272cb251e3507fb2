/// A token for a provider, made when it is needed and kept while it is good. Those who need one at once wait for one.
actor CachedToken {
    private let make: @Sendable () async throws -> (String, Duration)
    private var kept: (token: String, until: ContinuousClock.Instant)?
    private var making: Task<(String, Duration), any Error>?

    /// - Parameter make: makes one, and says for how long it is good.
    init(_ make: @escaping @Sendable () async throws -> (String, Duration)) { self.make = make }

    /// - Throws: what `make` throws.
    func value() async throws -> String {
        if let kept, kept.until > .now { return kept.token }
        if let making { return try await making.value.0 }
        // It ends by itself, within the time of a request, and whoever asks waits for it.
        let task = Task { [make] in try await make() }
        making = task
        defer { making = nil }
        let (token, lifetime) = try await task.value
        kept = (token, .now + lifetime)
        return token
    }

    /// Makes another in place of that one.
    func forget(_ token: String) {
        if kept?.token == token { kept = nil }
    }
}
