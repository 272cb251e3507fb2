import BoundedWait
import Foundation
import LineClient
import WireProtocol

extension TestClient {
    /// Sends with a client_id, and retries retryable errors, as a client should.
    @discardableResult
    func sendWithRetry(
        _ content: String, to conversation: String, refused: @escaping @Sendable (ErrorCode?) async -> Void = { _ in }
    ) async throws -> JSON {
        let id = UUID().uuidString.lowercased()
        return try await eventually("an answer to \(content)") {
            do {
                return try await call(
                    "messages.send",
                    ["conversation_id": .string(conversation), "content": .string(content), "client_id": .string(id)])
            } catch let error as RemoteError where error.isRetryable {
                // Any other error is wrong, and fails the test.
                await refused(error.knownCode)
                return nil
            }
        }
    }
}

extension TestDatabase {
    /// Waits until the query returns the value.
    func wait(for query: String, toBe wanted: String?) async throws {
        // A new connection each time would cost more than the query.
        try await withConnection { connection in
            try await eventually("\(query) to be \(wanted ?? "nothing")") {
                try await Self.column(query, over: connection).first ?? nil == wanted
            }
        }
    }
}
