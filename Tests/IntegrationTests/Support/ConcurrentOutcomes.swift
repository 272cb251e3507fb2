import BoundedWait
import LineClient
import Messaging
import Testing

extension TestClient {
    /// The session has ended: its connections end on every node, and are told why.
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

/// The stable names of what several calls at once came to, in order; "done" for those that were done.
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
                    // Told so before the call was answered.
                    return goodbye.code
                }
            }
        }
        return try await group.reduce(into: []) { $0.append($1) }.sorted()
    }
}
