import LineClient
import Testing
import WireProtocol

/// The members of the protocol's objects in their order (`docs/protocol.md`, section 3).
enum Shape {
    static let profile = [
        "id", "username", "full_name", "bio", "avatar_type", "avatar_id", "avatar_url", "website", "location",
        "language_code", "is_verified", "is_guest", "is_deleted", "attributes", "version", "created_at", "updated_at",
    ]

    static let me =
        profile + [
            "email", "phone_number", "phone_verified", "date_of_birth", "preferred_unit_system", "preferences",
            "physical", "username_changed_at", "username_change_count", "username_change_allowed_at",
            "is_moderator",
        ]

    static let physical = ["biological_sex", "height_cm", "date_of_birth"]

    static let conversation = [
        "id", "kind", "title", "created_by", "participant1_id", "participant2_id", "members", "last_seq", "version",
        "last_message_content", "last_message_time", "last_message_sender_id", "last_read_seq", "unread_count",
        "unread_mentions", "is_marked_unread", "muted_until", "is_archived", "is_pinned", "scheduled_count",
        "unsent_count", "first_seq", "message_ttl_seconds", "pinned_seqs", "data", "created_at",
        "updated_at",
    ]

    static let member = ["user_id", "role", "joined_at", "last_read_seq", "last_delivered_seq"]

    static let message = [
        "id", "conversation_id", "seq", "sender_id", "sender", "client_id", "kind", "content", "attachment",
        "attachments", "is_read", "version", "reply_to", "mentions", "mentions_everyone", "data", "created_at",
        "edited_at", "deleted_at",
    ]

    static let sender = ["id", "username", "full_name", "avatar_type", "avatar_id", "avatar_url", "version"]

    static let attachment = [
        "url", "mime_type", "width", "height", "bytes", "media_id", "blurhash", "name", "duration_ms",
        "waveform", "preview_media_id",
    ]

    static let tokens = [
        "access_token", "token_type", "expires_in", "expires_at", "refresh_token", "user_id", "is_guest",
    ]

    static let presence = ["user_id", "is_online", "last_seen_at"]

    /// All members of Changes. The first three are required and come first; the others have no order.
    static let changes = [
        "cursor", "reset", "more", "me", "profiles", "presence", "conversations", "messages", "pieces", "reactions",
        "reads", "delivered", "blocked", "left", "limited",
    ]
}

/// Expects exactly these members in this order.
func expectShape(_ object: JSON?, _ names: [String], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(object?.names == names, sourceLocation: sourceLocation)
}

func expectMe(_ me: JSON?, sourceLocation: SourceLocation = #_sourceLocation) {
    expectShape(me, Shape.me, sourceLocation: sourceLocation)
    expectShape(me?["physical"], Shape.physical, sourceLocation: sourceLocation)
    #expect(me?["physical"]?["date_of_birth"] == me?["date_of_birth"], sourceLocation: sourceLocation)
    for time in ["created_at", "updated_at"] { expectTimestamp(me?[time], sourceLocation: sourceLocation) }
}

func expectProfile(_ profile: JSON?, sourceLocation: SourceLocation = #_sourceLocation) {
    expectShape(profile, Shape.profile, sourceLocation: sourceLocation)
    for time in ["created_at", "updated_at"] { expectTimestamp(profile?[time], sourceLocation: sourceLocation) }
}

func expectConversation(_ conversation: JSON?, sourceLocation: SourceLocation = #_sourceLocation) {
    expectShape(conversation, Shape.conversation, sourceLocation: sourceLocation)
    let members = conversation?["members"]?.arrayValue ?? []
    #expect(!members.isEmpty, sourceLocation: sourceLocation)
    for member in members {
        expectShape(member, Shape.member, sourceLocation: sourceLocation)
        expectTimestamp(member["joined_at"], sourceLocation: sourceLocation)
    }
    if conversation?["kind"] == "direct", let one = conversation?["participant1_id"]?.stringValue,
        let other = conversation?["participant2_id"]?.stringValue
    {
        #expect(one < other, sourceLocation: sourceLocation)
    }
}

func expectMessage(_ message: JSON?, sourceLocation: SourceLocation = #_sourceLocation) {
    var members = Shape.message
    if message?["event"] != nil {
        #expect(message?["kind"] == "system", sourceLocation: sourceLocation)
        members.insert("event", at: 10)
    }
    if message?["is_held"] != nil { members.append("is_held") }
    expectShape(message, members, sourceLocation: sourceLocation)
    expectShape(message?["sender"], Shape.sender, sourceLocation: sourceLocation)
    if let attachment = message?["attachment"], attachment != .null {
        expectShape(attachment, Shape.attachment, sourceLocation: sourceLocation)
        #expect(message?["attachments"]?[0] == attachment, sourceLocation: sourceLocation)
    } else {
        #expect(message?["attachments"] == .array([]), sourceLocation: sourceLocation)
    }
    expectTimestamp(message?["created_at"], sourceLocation: sourceLocation)
}

/// Expects RFC 3339 in UTC with microseconds.
func expectTimestamp(_ value: JSON?, sourceLocation: SourceLocation = #_sourceLocation) {
    let text = value?.stringValue ?? ""
    let form = String(decoding: text.utf8.map { (0x30...0x39).contains($0) ? 0x30 : $0 }, as: UTF8.self)
    #expect(form == "0000-00-00T00:00:00.000000Z", "\(text) is no timestamp", sourceLocation: sourceLocation)
}

/// Expects whole objects in Changes.
func expectChanges(_ changes: JSON?, sourceLocation: SourceLocation = #_sourceLocation) {
    let names = changes?.names ?? []
    #expect(Array(names.prefix(3)) == Array(Shape.changes.prefix(3)), sourceLocation: sourceLocation)
    #expect(Set(names).isSubset(of: Shape.changes) && Set(names).count == names.count, sourceLocation: sourceLocation)
    if let me = changes?["me"] { expectMe(me, sourceLocation: sourceLocation) }
    for object in changes?["presence"]?.arrayValue ?? [] {
        expectShape(object, Shape.presence, sourceLocation: sourceLocation)
        if let seen = object["last_seen_at"], seen != .null { expectTimestamp(seen, sourceLocation: sourceLocation) }
    }
    for object in changes?["profiles"]?.arrayValue ?? [] { expectProfile(object, sourceLocation: sourceLocation) }
    for object in changes?["conversations"]?.arrayValue ?? [] {
        expectConversation(object, sourceLocation: sourceLocation)
    }
    for object in changes?["messages"]?.arrayValue ?? [] { expectMessage(object, sourceLocation: sourceLocation) }
    for object in changes?["reads"]?.arrayValue ?? [] {
        expectShape(object, ["conversation_id", "user_id", "last_read_seq"], sourceLocation: sourceLocation)
    }
    for object in changes?["delivered"]?.arrayValue ?? [] {
        expectShape(object, ["conversation_id", "user_id", "last_delivered_seq"], sourceLocation: sourceLocation)
    }
}
