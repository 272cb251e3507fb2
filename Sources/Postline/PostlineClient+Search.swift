import Foundation

/// The search of messages.
extension PostlineClient {
    /// Returns messages that contain all words of a text, the newest first. The server searches all messages of the
    /// user's conversations; without a connection the device searches those that it has stored.
    ///
    /// Words are compared without case and accents, in every language alike. A last word of three letters or more also
    /// finds words that begin with it. Deleted messages are not found, nor those in groups of users whom this user
    /// blocks.
    ///
    /// - Parameters:
    ///   - query: 2 to 100 characters.
    ///   - conversationID: The conversation to search, or nil for all.
    ///   - senderID: The user whose messages are searched, or nil for all.
    ///   - limit: 1 to 50 messages.
    ///   - before: The ``MessageSearchPage/next`` of the page before.
    /// - Throws: ``PostlineError``: `invalid_params`, `not_found`, `rate_limited`, `signed_out`, `store_unusable`;
    ///   `offline` for the next page without a connection.
    public func searchMessages(
        _ query: String, in conversationID: Conversation.ID? = nil, from senderID: User.ID? = nil, limit: Int = 20,
        before: String? = nil
    ) async throws(PostlineError) -> MessageSearchPage {
        guard 2...100 ~= query.unicodeScalars.count else {
            throw PostlineError(.invalidParams, "\"query\" must be 2 to 100 characters long.", field: "query")
        }
        guard 1...50 ~= limit else {
            throw PostlineError(.invalidParams, "\"limit\" must be 1 to 50.", field: "limit")
        }
        let answer: SearchAnswer
        do {
            answer = try await searchOnServer(query, in: conversationID, from: senderID, limit: limit, before: before)
        } catch {
            guard before == nil, error.code == .offline || error.code == .unknownMethod else { throw error }
            let stored = try await read {
                try $0.searchMessages(query, in: conversationID, from: senderID, limit: limit)
            }
            return MessageSearchPage(messages: stored, isStoredOnly: true)
        }
        let places = Dictionary(grouping: answer.messages, by: \.conversationID).mapValues { $0.map(\.seq) }
        let (found, stored) = try await read { reader in
            (
                try places.flatMap { try reader.messages(numbered: $1, in: $0) },
                before == nil
                    ? try reader.searchMessages(query, in: conversationID, from: senderID, limit: limit) : []
            )
        }
        // The next page has those that are older than this one.
        let end = answer.next == nil ? Date.distantPast : found.map(\.createdAt).min() ?? .distantFuture
        let ids = Set(found.map(\.id))
        let added = stored.filter { $0.createdAt > end && !ids.contains($0.id) }
        return MessageSearchPage(
            messages: (found.filter { $0.deletedAt == nil && !$0.isBlocked } + added).newestFirst(), next: answer.next,
            isPartial: answer.isPartial)
    }

    private struct SearchAnswer: Decodable, Sendable {
        var messages: [WireMessage]
        var next: String?
        var isPartial: Bool

        enum CodingKeys: String, CodingKey {
            case messages, next
            case isPartial = "is_partial"
        }
    }

    /// Stores what the server found, and returns it.
    private func searchOnServer(
        _ query: String, in conversationID: Conversation.ID?, from senderID: User.ID?, limit: Int, before: String?
    ) async throws(PostlineError) -> SearchAnswer {
        let engine = try currentEngine()
        var params: [String: JSONValue] = ["query": .string(query), "limit": .integer(limit)]
        if let conversationID { params["conversation_id"] = .id(conversationID) }
        if let senderID { params["sender_id"] = .id(senderID) }
        if let before { params["before"] = .string(before) }
        let answer = try await engine.call("messages.search", params, as: SearchAnswer.self)
        var changes = Changes()
        changes.messages = answer.messages
        try await apply(changes, from: engine)
        return answer
    }
}

/// A page of a search of messages (``PostlineClient/searchMessages(_:in:from:limit:before:)``).
public struct MessageSearchPage: Sendable, Hashable {
    /// The messages, the newest first. There may be none also before the end.
    public var messages: [Message]
    /// The `before` of the next page, or nil at the end.
    public var next: String?
    /// True if the server ended the search early, to save time. The page may be empty, and ``next`` continues.
    public var isPartial = false
    /// True if only messages that the device has stored were searched, since there is no connection.
    public var isStoredOnly = false
}
