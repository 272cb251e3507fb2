extension Connection {
    /// Connects, lets `body` use the connection, and closes it, also where `body` throws.
    ///
    /// - Parameters:
    ///   - url: A connection string of libpq: a URL or keywords.
    ///   - reactor: Whose thread the connection lives on.
    ///   - options: How to connect and how to use the connection.
    ///   - body: What is done over it.
    /// - Throws: `connectFailed`; `cancelled`; what `body` throws.
    public static func with<Value>(
        _ url: String, on reactor: Reactor, options: ConnectionOptions = ConnectionOptions(),
        _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        try await open(url, on: reactor, options: options).use(body)
    }

    /// Lets `body` use the connection, and closes it, also where `body` throws.
    public nonisolated func use<Value>(_ body: (Connection) async throws -> Value) async throws -> Value {
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
