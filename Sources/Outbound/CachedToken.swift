/// A provider's token, made on demand and cached while valid. Concurrent callers wait for the same token.
package actor CachedToken {
    private let make: @Sendable () async throws -> (String, Duration)
    private var cached: (token: String, until: ContinuousClock.Instant)?
    private var pending: Task<(String, Duration), any Error>?

    /// - Parameter make: makes a token, and returns its validity.
    package init(_ make: @escaping @Sendable () async throws -> (String, Duration)) { self.make = make }

    /// - Throws: the error of `make`.
    package func value() async throws -> String {
        if let cached, cached.until > .now { return cached.token }
        if let pending { return try await pending.value.0 }
        // It ends by itself, within a request's timeout, and all callers wait for it.
        let task = Task { [make] in try await make() }
        pending = task
        defer { pending = nil }
        let (token, lifetime) = try await task.value
        cached = (token, .now + lifetime)
        return token
    }

    /// Discards a token, so that the next call makes another.
    package func forget(_ token: String) {
        if cached?.token == token { cached = nil }
    }
}
