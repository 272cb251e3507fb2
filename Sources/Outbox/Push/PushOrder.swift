package import Foundations
package import Messaging

/// A device push about a conversation: a row of `app.claim_pushes`.
package struct PushOrder: Sendable {
    package let kind: Kind
    package let device: Device

    /// The device's user.
    package let user: ID
    package let conversation: ID

    /// The message, the one that was reacted to, or the last read one.
    package let seq: Int64

    /// The sender, or the user who reacted.
    package let sender: ID?

    /// The name of ``sender``, or nil.
    package let senderName: String?

    /// The group's title, or nil.
    package let title: String?

    /// The kind of the message, or `voice` for an audio with a waveform.
    package let messageKind: String

    /// The message's text, or nil if it must not be shown.
    package let content: String?

    /// The reaction, or nil if it must not be shown.
    package let emoji: String?

    /// The number of unread messages in all conversations.
    package let badge: Int64

    /// The number of previous attempts.
    package let attempts: Int

    package enum Kind: String, Sendable {
        /// A message arrived.
        case notify = "tell"
        /// Somebody reacted to the user's message.
        case reaction
        /// The conversation was read elsewhere.
        case read

        /// The name in the requests to webhooks.
        var typeName: String { self == .notify ? "message" : rawValue }
    }

    package struct Device: Sendable {
        package let id: ID
        package let platform: DevicePlatform
        package let token: String
        package let isSandbox: Bool

        /// The language as a BCP 47 tag.
        package let locale: String?
    }
}

/// The outcome of a push.
package enum PushOutcome: Sendable, Equatable {
    /// The provider accepted the push.
    case accepted
    /// The push was rejected permanently.
    case rejected(String)
    /// The device is no longer registered.
    case unregistered
    /// The push must be retried, after the time that the provider names, if any.
    case deferred(String, after: Duration?)
}
