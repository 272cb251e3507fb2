/// What one device is to be told of one conversation: a row of `app.claim_pushes`.
public struct PushOrder: Sendable {
    public let kind: Kind
    public let device: Device

    /// The user whose device it is.
    public let user: ID
    public let conversation: ID

    /// The message that is told of, or up to which all is read.
    public let seq: Int64

    /// Nil where nothing is told of, or the sender is no more.
    public let sender: ID?

    /// Nil where the sender has none.
    public let senderName: String?

    /// Of a group.
    public let title: String?
    public let isImage: Bool

    /// The message's text; nil where it is not to be shown.
    public let content: String?

    /// How many messages the user has not read, of all conversations.
    public let badge: Int64

    /// How often it was tried before.
    public let attempts: Int

    public enum Kind: String, Sendable {
        /// Of a message.
        case tell
        /// Of nothing any more: it was read elsewhere.
        case read
    }

    public struct Device: Sendable {
        public let id: ID
        public let platform: DevicePlatform
        public let token: String
        public let isSandbox: Bool

        /// A BCP 47 tag.
        public let locale: String?
    }
}

/// What became of an order.
public enum PushOutcome: Sendable, Equatable {
    /// It is on its way to the device.
    case taken
    /// It will never be taken.
    case refused(String)
    /// There is no such device any more.
    case unregistered
    /// It is to be tried again; after so long, where the provider says it.
    case later(String, after: Duration?)
}
