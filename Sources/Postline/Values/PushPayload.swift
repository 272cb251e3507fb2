public import Foundation

/// The content of a device push of the server (`docs/push.md`).
///
/// It tolerates members and kinds that this version does not know. A payload of another sender, or one with a known
/// member of a wrong type, is nil.
public struct PushPayload: Sendable, Hashable {
    /// The kind of the push.
    public let kind: Kind
    /// The conversation to open.
    public let conversationID: Conversation.ID
    /// The number of the message, or for ``Kind/read`` the number up to which the user has read. It is never nil for
    /// these kinds. ``Chat/jump(toSeq:)`` shows the message.
    public let seq: Int?
    /// The sender of the message, or the user who reacted, if the push names one.
    public let senderID: User.ID?
    /// The title of the notification, or nil for a silent push.
    public let title: String?
    /// The text of the message, or nil if the server sends none.
    public let body: String?
    /// The reaction, or nil if the server sends none.
    public let emoji: String?
    /// The number of the user's unread messages in all conversations, for the app's icon.
    public let badge: Int?

    /// The kind of a push.
    public struct Kind: ExtensibleEnum {
        /// The name.
        public let rawValue: String
        /// Creates a value from the name, known to this version or not.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A new message.
        public static let message: Self = "message"
        /// Somebody reacted to a message of the user, who has turned these pushes on
        /// (``ProfileEdit/notifiesOfReactions``).
        public static let reaction: Self = "reaction"
        /// The user has read messages on another device. The push is silent.
        public static let read: Self = "read"
    }

    /// Reads the `userInfo` of a notification (APNs) or the data of a message (FCM). Returns nil if it is none of this
    /// server.
    public init?(userInfo: [AnyHashable: Any]) {
        guard let object = JSONValue(userInfo) else { return nil }
        self.init(object)
    }

    /// Reads a payload from JSON. Returns nil if it is none of this server.
    public init?(data: Data) {
        guard let object = try? JSONDecoder().decode(JSONValue.self, from: data) else { return nil }
        self.init(object)
    }

    private init?(_ json: JSONValue) {
        guard case .object(let members) = json, case .string(let id)? = members["conversation_id"],
            UUID(uuidString: id) != nil
        else { return nil }
        do {
            let (seq, readSeq) = (try members.number("seq"), try members.number("read_seq"))
            let known: Kind? = readSeq != nil ? .read : seq != nil ? .message : nil
            guard let kind = try members.text("type").map(Kind.init(rawValue:)) ?? known else { return nil }
            if [.message, .reaction].contains(kind) && seq == nil || kind == .read && readSeq == nil { return nil }
            self.kind = kind
            conversationID = Conversation.ID(id.lowercased())
            self.seq = kind == .read ? readSeq : seq
            senderID = try members.text("sender_id").map { User.ID($0) }
            title = try members.text("title")
            body = try members.text("body")
            emoji = try members.text("emoji")
            badge = try members.number("badge")
        } catch {
            return nil
        }
    }
}

/// The error of a known member of a wrong type.
private struct WrongType: Error {}

extension [String: JSONValue] {
    /// Returns a whole number from 0 to 2^53, which FCM sends as a string, or nil if it is missing.
    fileprivate func number(_ name: String) throws -> Int? {
        let number: Int? =
            switch self[name] {
            case nil, .null?: nil
            case .integer(let number)?: number
            case .string(let text)?: if let number = Int(text) { number } else { throw WrongType() }
            default: throw WrongType()
            }
        if let number, !(0...(1 << 53) ~= number) { throw WrongType() }
        return number
    }

    /// Returns a string, or nil if it is missing.
    fileprivate func text(_ name: String) throws -> String? {
        switch self[name] {
        case nil, .null?: nil
        case .string(let text)?: text
        default: throw WrongType()
        }
    }
}

extension JSONValue {
    /// Converts the values of a property list. Nil if there is another value at the top; others are left out.
    fileprivate init?(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let number as Int: self = .integer(number)
        case let number as Double: self = .number(number)
        case let array as [Any]: self = .array(array.compactMap(JSONValue.init))
        case let object as [AnyHashable: Any]:
            self = .object(
                object.reduce(into: [:]) { members, member in
                    if let name = member.key as? String { members[name] = JSONValue(member.value) }
                })
        default: return nil
        }
    }
}
