public import Foundation

/// Somebody in a conversation.
struct TypingKey: Hashable {
    let conversationID: String
    let userID: String
}

/// Who is there, and who types.
extension PostlineClient {
    /// Whether somebody is online with whom this user shares a conversation; nil where nothing is known.
    public func presence(of userID: String) -> Presence? {
        conversations.lazy.compactMap { $0.presence[userID] }.first
    }

    private struct PresenceList: Decodable, Sendable {
        var presence: [WirePresence]
    }

    /// Whether these users are online, 1 to 100, by their ids; of who is unknown, hides it or shares no conversation it is
    /// the same: not online, and never seen.
    ///
    /// - Throws: ``PostlineError``: `offline`, `invalid_params`.
    public func presence(ofUsers ids: [String]) async throws -> [String: Presence] {
        try await call("presence.get", ["user_ids": .array(ids.map(JSONValue.string))], as: PresenceList.self)
            .presence.reduce(into: [:]) {
                $0[$1.userID] = Presence(isOnline: $1.isOnline, lastSeenAt: $1.lastSeenAt)
            }
    }

    /// How many messages the user has not read, of all conversations: what an app's icon shows.
    public var badge: Int { conversations.reduce(0) { $0 + $1.unreadCount } }

    /// Has no push tell of a conversation's messages, on any of the user's devices.
    ///
    /// - Parameters:
    ///   - conversationID: which.
    ///   - until: until when; nil: for good.
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func mute(_ conversationID: String, until: Date? = nil) async throws {
        var params: [String: JSONValue] = ["conversation_id": .string(conversationID)]
        if let until { params["until"] = .string(until.formatted(.iso8601)) }
        _ = try await conversation("conversations.mute", params, withPeople: false)
    }

    /// Has pushes tell of a conversation's messages again.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func unmute(_ conversationID: String) async throws {
        _ = try await conversation(
            "conversations.mute", ["conversation_id": .string(conversationID), "until": nil], withPeople: false)
    }

    /// Tells the others that the user types, or does not any more: what ``Chat/setDraft(_:)`` does by itself. It may be
    /// lost, waits for nothing, and nobody is told more often than every two seconds.
    public func setTyping(_ isTyping: Bool, in conversationID: String) async {
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

    /// Forgets those of whom nothing was heard any more. Returns when to look again at the latest.
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
    /// Whether the user hides from everybody when it is online, and sees it of nobody then.
    public var hidesPresence: Bool {
        get { preferences["presence"] == "nobody" }
        set { preferences["presence"] = newValue ? "nobody" : nil }
    }
}

extension Me {
    /// Whether the user hides from everybody when it is online.
    public var hidesPresence: Bool { preferences["presence"] == "nobody" }
}
