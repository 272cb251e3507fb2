import BoundedWait
import Foundation
import LineClient
import Messaging

extension TestClient {
    /// Sends as a client should: with a client_id, and again where it was told that trying again may help.
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
                // Anything else is a false answer, and fails the test.
                await refused(error.knownCode)
                return nil
            }
        }
    }
}

extension TestDatabase {
    /// Waits until the query's value is the wanted one.
    func wait(for query: String, toBe wanted: String?) async throws {
        try await eventually("\(query) to be \(wanted ?? "nothing")") { try await value(query) == wanted }
    }
}
