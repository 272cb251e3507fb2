/// A change of a conversation, mostly of a group, reported by a message of the kind ``MessageKind/system``. The
/// message's sender made the change.
public struct GroupEvent: Sendable, Hashable {
    /// The kind of change. For unknown kinds, the message's content describes the change in English.
    public let kind: GroupEventKind
    /// The ids of the users who were added or removed, or who left.
    public let userIDs: [User.ID]
    /// The current profiles of those users, as far as they are on the device.
    public internal(set) var profiles: [User] = []
    /// The group's new title, if it was renamed.
    public let title: String?
    /// The new time after which messages expire. Nil if they are kept, and for other kinds.
    public let messageTTL: Duration?
}

/// The kind of a ``GroupEvent``.
public struct GroupEventKind: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The sender added users.
    public static let membersAdded: Self = "members_added"
    /// The sender removed a user.
    public static let memberRemoved: Self = "member_removed"
    /// The sender left the group.
    public static let memberLeft: Self = "member_left"
    /// The sender renamed the group.
    public static let renamed: Self = "renamed"
    /// The sender set after what time messages expire.
    public static let messageTTLChanged: Self = "ttl_changed"
}

extension GroupEvent: Codable {
    enum CodingKeys: String, CodingKey {
        case kind = "type"
        case userIDs = "user_ids"
        case title
        case messageTTL = "message_ttl_seconds"
    }

    /// Decodes the protocol's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        kind = try object.decode(GroupEventKind.self, forKey: .kind)
        userIDs = try object.decodeIfPresent([User.ID].self, forKey: .userIDs) ?? []
        title = try object.decodeIfPresent(String.self, forKey: .title)
        messageTTL = try object.decodeIfPresent(Int.self, forKey: .messageTTL).map { .seconds($0) }
    }

    /// Encodes the protocol's object.
    public func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: CodingKeys.self)
        try object.encode(kind, forKey: .kind)
        try object.encode(userIDs, forKey: .userIDs)
        try object.encodeIfPresent(title, forKey: .title)
        try object.encodeIfPresent(messageTTL?.components.seconds, forKey: .messageTTL)
    }
}
