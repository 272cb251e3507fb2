/// A device push about a conversation: a row of `app.claim_pushes`.
public struct PushOrder: Sendable {
    public let kind: Kind
    public let device: Device

    /// The device's user.
    public let user: ID
    public let conversation: ID

    /// The message, or the last read one.
    public let seq: Int64

    /// The sender; nil for a silent push, or if the sender is deleted.
    public let sender: ID?

    /// The sender's name, or nil.
    public let senderName: String?

    /// The group's title, or nil.
    public let title: String?
    public let isImage: Bool

    /// The message's text, or nil if it must not be shown.
    public let content: String?

    /// The number of unread messages in all conversations.
    public let badge: Int64

    /// The number of previous attempts.
    public let attempts: Int

    public enum Kind: String, Sendable {
        /// A message arrived.
        case notify = "tell"
        /// The conversation was read elsewhere.
        case read
    }

    public struct Device: Sendable {
        public let id: ID
        public let platform: DevicePlatform
        public let token: String
        public let isSandbox: Bool

        /// The language as a BCP 47 tag.
        public let locale: String?
    }
}

/// The outcome of a push.
public enum PushOutcome: Sendable, Equatable {
    /// The provider accepted the push.
    case accepted
    /// The push was rejected permanently.
    case rejected(String)
    /// The device is no longer registered.
    case unregistered
    /// The push must be retried, after the time that the provider names, if any.
    case deferred(String, after: Duration?)
}
