public import Foundation

/// Messages that the server sends at a later time.
extension PostlineClient {
    /// Schedules a message. It is then with the server, which sends it within two seconds of its time, whether or not
    /// this device is on.
    ///
    /// - Parameters:
    ///   - content: 1 to 8,000 characters, or none with attachments.
    ///   - conversationID: The conversation's id.
    ///   - dueAt: A time in the future, at most a year from now.
    ///   - attachments: At most 10 files that are uploaded (``upload(_:for:progress:)``), or available at a URL.
    ///   - details: The message to answer, mentions, and data of the app.
    /// - Throws: ``PostlineError``: `offline`, `not_found`, `invalid_params`, `forbidden` with 100 scheduled messages,
    ///   `not_sent` if the server does not have the message to answer yet; `signed_out`.
    @discardableResult
    public func schedule(
        _ content: String, in conversationID: Conversation.ID, at dueAt: Date,
        attachments: [Message.Attachment] = [], details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> ScheduledMessage {
        var params = try details.params(content, in: conversationID, attachments: attachments)
        params["due_at"] = .string(dueAt.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
        params["client_id"] = .string(UUID().uuidString.lowercased())
        return try await currentEngine().call(
            "messages.schedule", params.withoutUploadedURLs, as: ScheduledMessage.self)
    }

    /// Returns this user's scheduled messages by their time, also those that the server refused to send.
    ///
    /// - Parameter conversationID: The conversation's id, or nil for all.
    /// - Throws: ``PostlineError``: `offline`, `signed_out`.
    public func scheduledMessages(
        in conversationID: Conversation.ID? = nil
    ) async throws(PostlineError) -> [ScheduledMessage] {
        var params: [String: JSONValue] = [:]
        if let conversationID { params["conversation_id"] = .id(conversationID) }
        var found: [ScheduledMessage] = []
        while true {
            let page = try await currentEngine().call("messages.scheduled", params, as: ScheduledPage.self)
            found += page.scheduled
            guard let next = page.next else { return found }
            params["after"] = .string(next)
        }
    }

    /// Removes a scheduled message, which is not sent then.
    ///
    /// - Throws: ``PostlineError``: `not_found` if it was sent or removed; `offline`, `signed_out`.
    public func unschedule(_ message: ScheduledMessage) async throws(PostlineError) {
        let params: [String: JSONValue] = ["id": .string(message.id.rawValue)]
        _ = try await currentEngine().call("messages.unschedule", params, as: ScheduledMessage.self)
    }
}

/// The answer of `messages.scheduled`.
private struct ScheduledPage: Decodable, Sendable {
    let scheduled: [ScheduledMessage]
    let next: String?
}
