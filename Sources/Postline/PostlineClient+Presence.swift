public import Foundation

/// A user who is typing in a conversation.
struct TypingKey: Hashable {
    let conversationID: Conversation.ID
    let userID: User.ID
}

/// Presence, typing and unread messages.
extension PostlineClient {
    /// Returns the presence of a user who shares a conversation with this user, or nil if it is unknown.
    public func presence(of userID: User.ID) -> Presence? {
        conversations.lazy.compactMap { $0.presence[userID] }.first
    }

    private struct PresenceList: Decodable, Sendable {
        var presence: [WirePresence]
    }

    /// Returns the presence of 1 to 100 users, by id. A user who does not exist, hides presence or shares no
    /// conversation is reported as offline and never seen.
    ///
    /// - Throws: ``PostlineError``: `offline`, `invalid_params`.
    public func presence(ofUsers ids: [User.ID]) async throws(PostlineError) -> [User.ID: Presence] {
        try await call("presence.get", ["user_ids": .array(ids.map { .id($0) })], as: PresenceList.self)
            .presence.reduce(into: [:]) {
                $0[$1.userID] = Presence(isOnline: $1.isOnline, lastSeenAt: $1.lastSeenAt)
            }
    }

    /// The number of unread messages in all conversations, for the app's icon.
    public var unreadCount: Int { conversations.reduce(0) { $0 + $1.unreadCount } }

    /// Mutes a conversation: no push announces its messages, on any of the user's devices.
    ///
    /// - Parameters:
    ///   - conversationID: The conversation's id.
    ///   - until: The end of the mute, or nil for no end.
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func mute(_ conversationID: Conversation.ID, until: Date? = nil) async throws(PostlineError) {
        var params: [String: JSONValue] = ["conversation_id": .id(conversationID)]
        if let until { params["until"] = .string(until.formatted(.iso8601)) }
        _ = try await conversation("conversations.mute", params, withProfiles: false)
    }

    /// Ends the mute of a conversation.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func unmute(_ conversationID: Conversation.ID) async throws(PostlineError) {
        _ = try await conversation(
            "conversations.mute", ["conversation_id": .id(conversationID), "until": nil], withProfiles: false)
    }

    /// Notifies the other members that the user is typing, or has stopped. ``Chat/setDraft(_:)`` calls it. A notice may
    /// be lost, is never queued, and is sent at most every two seconds.
    public func setTyping(_ isTyping: Bool, in conversationID: Conversation.ID) async {
        await engine?.setTyping(isTyping, in: conversationID)
    }

    func handleTyping(_ notice: WireTyping) {
        guard state == .live else { return }
        let key = TypingKey(conversationID: notice.conversationID, userID: notice.userID)
        if notice.isTyping {
            typingExpirations[key] = .now + .seconds(min(max(notice.expiresIn ?? 6, 1), 60))
            if typingUserIDs[notice.conversationID]?.contains(notice.userID) != true {
                typingUserIDs[notice.conversationID, default: []].append(notice.userID)
            }
        } else {
            removeTyping(key)
        }
        typingSignal.signal()
    }

    /// Removes users whose typing has expired, and returns the time until the next expiry.
    func expireTyping() -> Duration {
        for (key, end) in typingExpirations where end <= .now { removeTyping(key) }
        return typingExpirations.values.min().map { $0 - .now } ?? .seconds(3_600)
    }

    private func removeTyping(_ key: TypingKey) {
        typingExpirations[key] = nil
        typingUserIDs[key.conversationID]?.removeAll { $0 == key.userID }
        if typingUserIDs[key.conversationID]?.isEmpty == true { typingUserIDs[key.conversationID] = nil }
    }
}

extension ProfileEdit {
    /// True if the user hides presence. The user then does not see the presence of others either.
    public var hidesPresence: Bool {
        get { preferences["presence"] == "nobody" }
        set { preferences["presence"] = newValue ? "nobody" : nil }
    }
}

extension Me {
    /// True if the user hides presence.
    public var hidesPresence: Bool { preferences["presence"] == "nobody" }
}
