// An answer of one of two kinds is one object here, without required members. openapi-generator's Swift client does not
// compile with a `oneOf` of objects that have an id, and of an `anyOf` it requires the members of both.

/// The protocol's objects (`docs/protocol.md`, sections 2, 3 and 5), each with all its members in their order.
extension Schema {
    /// The named schemas that references such as ``profile`` lead to.
    package static let named: [(name: String, schema: Schema)] = [
        ("Profile", object(profileMembers).described("The profile of a user, visible to all authenticated users.")),
        ("ProfileList", object([("profiles", .array(of: .profile))]).described("The profiles of several users.")),
        (
            "ProfileOrList",
            object([], optional: profileMembers + [("profiles", .array(of: .profile))])
                .described("A Profile for a username, or only profiles for ids.")
        ),
        ("Me", object(profileMembers + ownMembers).described("The user's own profile.")),
        ("Conversation", object(conversationMembers).described("A conversation as seen by a member.")),
        (
            "ConversationWithProfiles",
            object(conversationMembers, optional: [("profiles", .array(of: .profile))])
                .described("A conversation, with its members' profiles if requested.")
        ),
        (
            "ConversationOrLeft",
            object([], optional: conversationMembers + [("conversation_id", .uuid), ("left", .bool)])
                .described("The conversation without the member. If the user left: conversation_id and left.")
        ),
        (
            "Message",
            object(messageMembers, optional: [("event", event), ("is_held", .bool)])
                .described("A message, with its sender at the time of the response.")
        ),
        (
            "Reactions",
            object(reactionsMembers, optional: [("own", .array(of: .string))])
                .described("The reactions to a message. In pushes to others than the user who reacted, own is absent.")
        ),
        (
            "Piece",
            object([("conversation_id", .uuid), ("seq", .integer), ("start", .integer), ("content", .string)])
                .described("Text of a message that is streaming, from the character start on.")
        ),
        (
            "ScheduledMessage",
            object(scheduledMembers)
                .described("A message that is sent at its time. error says why it was refused then.")
        ),
        (
            "Report",
            object(reportMembers, optional: [("evidence", evidence.nullable)])
                .described("A report of a message or a user, for moderators. reports.get adds its evidence.")
        ),
        (
            "HeldMessage",
            object([("message", .message), ("words", .array(of: .string)), ("held_at", .timestamp)])
                .described("A message that waits for a moderator, with the words of the filter that hold it.")
        ),
        ("Presence", object(presenceMembers).described("The online state of a user, and the time last seen.")),
        ("Changes", object(changesMembers, optional: changesLists).described("The changes for a user.")),
        ("Tokens", object(tokensMembers).described("The tokens of a session.")),
        (
            "TokensAndMerged",
            object(
                tokensMembers, optional: [("merged", object([("conversations", .integer), ("messages", .integer)]))]
            ).described("Tokens, with the merged counts if a guest was merged.")
        ),
        ("Error", errorObject),
    ]

    private static let avatarMembers: [(String, Schema)] = [
        ("avatar_type", .choice(["built_in", "custom"]).nullable), ("avatar_id", .string.nullable),
        ("avatar_url", .string.nullable),
    ]

    private static let names: [(String, Schema)] = [
        ("id", .uuid), ("username", .string.nullable), ("full_name", .string.nullable),
    ]

    private static let aboutMembers: [(String, Schema)] = [
        ("website", .string.nullable), ("location", .string.nullable), ("language_code", .string.nullable),
        ("is_verified", .bool), ("is_guest", .bool), ("is_deleted", .bool),
        ("attributes", .anyObject.described("Data of the app about the user.")),
        ("version", .integer), ("created_at", .timestamp), ("updated_at", .timestamp),
    ]

    private static let bio: [(String, Schema)] = [("bio", .string.nullable)]

    private static let profileMembers: [(String, Schema)] = names + bio + avatarMembers + aboutMembers

    private static let senderVersion: [(String, Schema)] = [("version", .integer)]

    private static let sender: Schema = object(names + avatarMembers + senderVersion)

    private static let ownMembers: [(String, Schema)] = [
        ("email", .string.nullable), ("phone_number", .string.nullable), ("phone_verified", .bool),
        ("date_of_birth", .date.nullable), ("preferred_unit_system", .choice(["metric", "imperial"])),
        ("preferences", .anyObject.described("Data of the app.")),
        (
            "physical",
            .object([
                ("biological_sex", .choice(["male", "female", "other"]).nullable), ("height_cm", .number.nullable),
                ("date_of_birth", .date.nullable),
            ])
        ),
        ("username_changed_at", .timestamp.nullable), ("username_change_count", .integer),
        ("username_change_allowed_at", .timestamp.nullable), ("is_moderator", .bool),
    ]

    private static let conversationMembers: [(String, Schema)] = [
        ("id", .uuid), ("kind", .choice(["direct", "group"])), ("title", .string.nullable),
        ("created_by", .uuid.nullable), ("participant1_id", .uuid.nullable), ("participant2_id", .uuid.nullable),
        (
            "members",
            .array(
                of: .object([
                    ("user_id", .uuid), ("role", .choice(["owner", "admin", "member"])), ("joined_at", .timestamp),
                    ("last_read_seq", .integer), ("last_delivered_seq", .integer),
                ]))
        ),
        ("last_seq", .integer), ("version", .integer), ("last_message_content", .string.nullable),
        ("last_message_time", .timestamp.nullable), ("last_message_sender_id", .uuid.nullable),
        ("last_read_seq", .integer), ("unread_count", .integer), ("unread_mentions", .integer),
        ("is_marked_unread", .bool), ("muted_until", .timestamp.nullable), ("is_archived", .bool), ("is_pinned", .bool),
        ("scheduled_count", .integer), ("unsent_count", .integer),
        ("first_seq", .integer), ("message_ttl_seconds", .integer.nullable),
        ("pinned_seqs", .array(of: .integer)), ("data", .anyObject.nullable),
        ("created_at", .timestamp), ("updated_at", .timestamp),
    ]

    private static let messageMembers: [(String, Schema)] = [
        ("id", .uuid), ("conversation_id", .uuid), ("seq", .integer), ("sender_id", .uuid),
        ("sender", sender), ("client_id", .uuid.nullable), ("kind", messageKind),
        ("content", .string.nullable), ("attachment", attachment.nullable), ("attachments", .array(of: attachment)),
        ("is_read", .bool), ("version", .integer), ("reply_to", reply.nullable), ("mentions", .array(of: .uuid)),
        ("mentions_everyone", .bool), ("data", .anyObject.nullable), ("created_at", .timestamp),
        ("edited_at", .timestamp.nullable), ("deleted_at", .timestamp.nullable),
    ]

    private static let messageKind: Schema = .choice(["text", "image", "video", "audio", "file", "custom", "system"])

    private static let attachment = object([
        ("url", .string), ("mime_type", .string.nullable), ("width", .integer.nullable),
        ("height", .integer.nullable), ("bytes", .integer.nullable), ("media_id", .uuid.nullable),
        ("blurhash", .string.nullable), ("name", .string.nullable), ("duration_ms", .integer.nullable),
        ("waveform", .string.nullable), ("preview_media_id", .uuid.nullable),
    ])

    private static let scheduledMembers: [(String, Schema)] = [
        ("id", .uuid), ("conversation_id", .uuid), ("due_at", .timestamp),
        ("kind", messageKind), ("content", .string), ("attachment", attachment.nullable),
        ("attachments", .array(of: attachment)),
        ("reply_to_seq", .integer.nullable), ("mentions", .array(of: .uuid)), ("mentions_everyone", .bool),
        ("data", .anyObject.nullable), ("created_at", .timestamp),
        ("error", .object([("code", .string), ("message", .string)]).nullable),
    ]

    private static let reportMembers: [(String, Schema)] = [
        ("id", .uuid), ("state", .choice(["open", "in_review", "closed"])),
        ("reason", .choice(["spam", "abuse", "sexual", "violence", "illegal", "other"])),
        ("comment", .string.nullable), ("reporter_id", .uuid), ("reported_id", .uuid), ("reporter", sender),
        ("reported", sender),
        ("conversation_id", .uuid.nullable), ("seq", .integer.nullable), ("moderator_id", .uuid.nullable),
        ("outcome", .choice(["dismissed", "removed", "warned", "banned"]).nullable), ("resolution", .string.nullable),
        ("age_seconds", .integer), ("created_at", .timestamp), ("closed_at", .timestamp.nullable),
    ]

    // Not references: evidence is as it was, and may lack members of a later version.
    private static let evidence = object(
        [
            ("message", .anyObject.nullable.described("The Message, or null for a report of a user.")),
            ("before", .array(of: .anyObject).described("The ten Messages before it.")),
            ("reported", .anyObject.described("The Profile of the reported user.")),
        ],
        optional: [("reporter", .anyObject.described("The Profile of the reporter, unless it is deleted."))]
    ).described("What was reported, as it was then. Null once the retention time is over.")

    private static let reply = object([
        ("seq", .integer), ("sender_id", .uuid.nullable), ("kind", messageKind.nullable), ("content", .string.nullable),
        ("version", .integer),
    ]).described("The message that this one answers, with the first 100 characters of its content.")

    private static let event = object(
        [("type", .string)],
        optional: [
            ("user_ids", .array(of: .uuid)), ("title", .string), ("message_ttl_seconds", .integer.nullable),
        ]
    ).described("The group change of a system message.")

    private static let reactionsMembers: [(String, Schema)] = [
        ("conversation_id", .uuid), ("seq", .integer), ("version", .integer),
        ("counts", .anyObject.described("The number of users by emoji.")),
    ]

    private static let presenceMembers: [(String, Schema)] = [
        ("user_id", .uuid), ("is_online", .bool), ("last_seen_at", .timestamp.nullable),
    ]

    private static let changesMembers: [(String, Schema)] = [("cursor", .string), ("reset", .bool), ("more", .bool)]

    private static let changesLists: [(String, Schema)] = [
        ("me", .me), ("blocked", .array(of: .uuid)), ("profiles", .array(of: .profile)),
        ("presence", .array(of: .presence)),
        ("conversations", .array(of: .conversation)),
        ("messages", .array(of: .message)),
        ("pieces", .array(of: .piece)),
        ("reactions", .array(of: .reactions)),
        (
            "reads",
            .array(of: .object([("conversation_id", .uuid), ("user_id", .uuid), ("last_read_seq", .integer)]))
        ),
        (
            "delivered",
            .array(of: .object([("conversation_id", .uuid), ("user_id", .uuid), ("last_delivered_seq", .integer)]))
        ),
        ("left", .array(of: .uuid)), ("limited", .array(of: .uuid)),
    ]

    private static let tokensMembers: [(String, Schema)] = [
        ("access_token", .string), ("token_type", .choice(["bearer"])), ("expires_in", .integer),
        ("expires_at", .timestamp), ("refresh_token", .string), ("user_id", .uuid), ("is_guest", .bool),
    ]

    private static let errorObject = object([
        ("code", Schema(["type": .string("integer")]).described("The class: JSON-RPC 2.0's number, or the status.")),
        ("message", .string.described("A sentence for people.")),
        (
            "data",
            object(
                [
                    (
                        "code",
                        .choice(ErrorCode.allCases.map(\.rawValue)).described("The stable name for switch statements.")
                    ),
                    ("retryable", .bool.described("True if the same request may succeed later.")),
                ],
                optional: [
                    ("field", .string.described("The path of the invalid param.")),
                    ("suggestion", .string.described("The probably intended name.")),
                    ("method", .string.described("The method for the suggestion.")),
                    ("current", .me.described("The current object after a version conflict.")),
                    ("retry_at", .timestamp.described("The time from which the request may succeed.")),
                    ("retry_after", .number.described("The number of seconds after which the request may succeed.")),
                    ("incident", .string.described("The incident number in the server's log.")),
                ])
        ),
    ]).described("An error (section 2 of the protocol).")
}
