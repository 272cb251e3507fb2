extension Connection {
    /// Connects, passes the connection to `body`, and closes it, also if `body` throws.
    ///
    /// - Parameters:
    ///   - url: a libpq connection string: a URL or keywords.
    ///   - reactor: the reactor on whose thread the connection lives.
    ///   - options: how to connect and use the connection.
    ///   - body: uses the connection.
    /// - Throws: `connectFailed`, `cancelled`, or the error of `body`.
    package static func with<Value>(
        _ url: String, on reactor: Reactor, options: ConnectionOptions = ConnectionOptions(),
        _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        try await open(url, on: reactor, options: options).use(body)
    }

    /// Passes the connection to `body`, and closes it, also if `body` throws.
    package nonisolated func use<Value>(_ body: (Connection) async throws -> Value) async throws -> Value {
        do {
            let value = try await body(self)
            await close()
            return value
        } catch {
            await close()
            throw error
        }
    }
}
