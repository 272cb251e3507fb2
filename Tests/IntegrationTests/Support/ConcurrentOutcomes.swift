import BoundedWait
import LineClient
import Testing
import WireProtocol

extension TestClient {
    /// Expects the session's end: the server closes the connection with this goodbye.
    func expectEnd(_ code: GoodbyeCode = .sessionRevoked, sourceLocation: SourceLocation = #_sourceLocation)
        async throws
    {
        let line = line
        try await within("the goodbye") { await line.waitUntilClosed() }
        let goodbye = await line.goodbye
        #expect(goodbye?.knownCode == code, sourceLocation: sourceLocation)
        #expect(goodbye?.reconnect == code.reconnect, sourceLocation: sourceLocation)
    }
}

/// Runs calls concurrently, and returns their sorted error codes, or "done" for success.
func concurrentOutcomes<Callers: Sequence & Sendable>(
    _ callers: Callers, _ call: @escaping @Sendable (Callers.Element) async throws -> Void
) async throws -> [String] where Callers.Element: Sendable {
    try await withThrowingTaskGroup(of: String.self) { group in
        for caller in callers {
            group.addTask {
                do {
                    try await call(caller)
                    return "done"
                } catch let error as RemoteError {
                    return error.code
                } catch ConnectionError.closed(let goodbye?) {
                    // The goodbye came before the response.
                    return goodbye.code
                }
            }
        }
        return try await group.reduce(into: []) { $0.append($1) }.sorted()
    }
}
