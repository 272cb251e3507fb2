import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// The user's document (`/api/users`, `/api/chats`): every answer is the whole user.
///
/// Its times have milliseconds, as those of its server, which is JavaScript.
enum UserDialect {
    static var paths: JSONObject { DialectEndpoint.paths(of: endpoints) }

    static let endpoints = [
        DialectEndpoint(.GET, "/api/users/me", "The whole user.", answer: .schema("DialectUser")) {
            exchange, _ throws(ProtocolError) in
            whole(try await exchange.compatible.object("me.get")).buffer
        },
        DialectEndpoint(
            .PUT, "/api/users/me", "Changes what is there; what is absent stays. The whole user may come back.",
            sets: "me.save", takes: user.fields, takesWhole: true, statuses: [409], answer: .schema("DialectUser"),
            perform: save),
        DialectEndpoint(
            .POST, "/api/users/change-username", "Changes the username, once in 90 days.", sets: "me.change_username",
            takes: [DialectField("newUsername", "username", or: ["username"], .request)], required: ["newUsername"],
            statuses: [409], answer: .schema("DialectUser")
        ) { exchange, request throws(ProtocolError) in
            whole(try await exchange.compatible.object("me.save", JSONObject(request.params))).buffer
        },
        DialectEndpoint(
            .PUT, "/api/users/me/profile-picture", "Sets the profile picture to one that is served over https.",
            sets: "me.save", takes: [DialectField("imageUrl", "avatar_url", param: "avatar.avatar_url", .request)],
            required: ["imageUrl"],
            answer: .schema("DialectUser"), admit: refusePicture
        ) { exchange, request throws(ProtocolError) in
            let avatar: JSONObject = [
                "avatar_type": .string("custom"), "avatar_url": request["imageUrl"] ?? .null,
            ]
            return whole(try await exchange.compatible.object("me.save", ["avatar": .object(avatar)])).buffer
        },
        DialectEndpoint(
            .GET, "/api/chats/conversations", "The caller's conversations with their participants, 100 at most.",
            sets: "conversations.list", takes: MessagesDialect.page,
            answer: ConversationPage.schema(of: .schema("DialectConversation"))
        ) { exchange, request throws(ProtocolError) in
            // Its app asks once for all that there are.
            try await ConversationPage.data(
                of: exchange.compatible, request, limit: 100, people: "participants", conversation(of:), whole)
        },
    ]
}

/// The names.
extension UserDialect {
    /// Beside these stand the members of our `attributes`, which are the app's own.
    private static let user = DialectTable(fields: [
        DialectField("id", .answer),
        DialectField("apiId", "id", .answer),
        // Sent by the document's app with each change, as it is.
        DialectField("email", .answer, isPrivate: true),
        DialectField("username"),
        DialectField("firstName", "full_name", as: .firstName),
        DialectField("lastName", "full_name", as: .lastName),
        DialectField("displayName", "full_name"),
        DialectField("profilePictureUrl", "avatar_url", param: "avatar.avatar_url"),
        DialectField("avatarType", "avatar_type", param: "avatar.avatar_type"),
        DialectField("avatarId", "avatar_id", param: "avatar.avatar_id"),
        DialectField("bio"),
        DialectField("location"),
        DialectField("website"),
        DialectField("phoneNumber", "phone_number", or: ["phone"], isPrivate: true),
        DialectField("phoneVerified", "phone_verified", .answer, isPrivate: true),
        DialectField("isVerified", "is_verified", .answer),
        DialectField("language", "language_code", or: ["preferredLanguage"]),
        DialectField("birthdate", "date_of_birth", isPrivate: true),
        DialectField("preferences", isPrivate: true),
        DialectField("lastUsernameChange", "username_changed_at", .answer, as: .time(digits: 3), isPrivate: true),
        DialectField("usernameChangeCount", "username_change_count", .answer, isPrivate: true),
        DialectField(
            "usernameChangeAllowedAt", "username_change_allowed_at", .answer, as: .time(digits: 3), isPrivate: true),
        DialectField("createdAt", "created_at", .answer, as: .time(digits: 3)),
        DialectField("updatedAt", "updated_at", .answer, as: .time(digits: 3)),
    ])

    private static let conversation = DialectTable(fields: [
        DialectField("id", .answer),
        DialectField("kind", .answer),
        DialectField("title", .answer),
        DialectField("createdBy", "created_by", .answer),
        DialectField("participant1Id", "participant1_id", .answer),
        DialectField("participant2Id", "participant2_id", .answer),
        DialectField("lastSeq", "last_seq", .answer),
        DialectField("version", .answer),
        DialectField("lastMessageContent", "last_message_content", .answer),
        DialectField("lastMessageTime", "last_message_time", .answer, as: .time(digits: 3)),
        DialectField("lastMessageSenderId", "last_message_sender_id", .answer),
        DialectField("lastReadSeq", "last_read_seq", .answer),
        DialectField("unreadCount", "unread_count", .answer),
        DialectField("createdAt", "created_at", .answer, as: .time(digits: 3)),
        DialectField("updatedAt", "updated_at", .answer, as: .time(digits: 3)),
    ])

    /// Of a conversation's `members`.
    private static let member = DialectTable(fields: [
        DialectField("userId", "user_id", .answer),
        DialectField("role", .answer),
        DialectField("joinedAt", "joined_at", .answer, as: .time(digits: 3)),
        DialectField("lastReadSeq", "last_read_seq", .answer),
    ])

    /// The schemas of the answers, by their names in the OpenAPI document.
    static let schemas: [JSONObject.Member] = [
        .init(name: "DialectUser", value: user.schema(of: "Me")),
        .init(name: "DialectParticipant", value: user.schema(of: "Me", isForOthers: true)),
        .init(name: "DialectConversation", value: conversationSchema),
    ]

    private static let conversationSchema: JSON = {
        let members = member.schema(of: "Conversation", "members")
        let inside: JSON = .object([
            "type": .string("object"), "required": .array([.string("members"), .string("participants")]),
            "properties": .object([
                "members": .object(["type": .string("array"), "items": members]),
                "participants": .object(["type": .string("array"), "items": .schema("DialectParticipant")]),
            ]),
        ])
        return .object(["allOf": .array([conversation.schema(of: "Conversation"), inside])])
    }()
}

extension UserDialect {
    /// One of us, whether as itself or as others see it, with the app's own data beside.
    @Sendable private static func whole(_ object: JSONObject) -> JSONObject {
        let members = user.answer(object).members
        guard case .object(let attributes)? = object["attributes"] else { return JSONObject(members) }
        // A name of the document's own means what the document says.
        let rest = attributes.members.filter { member in !user.fields.contains { $0.isCalled(member.name) } }
        return JSONObject(members + rest)
    }

    @Sendable private static func conversation(of object: JSONObject) -> JSONObject {
        guard case .array(let ours)? = object["members"] else { return conversation.answer(object) }
        let members = ours.map { one -> JSON in
            guard case .object(let one) = one else { return one }
            return .object(member.answer(one))
        }
        return JSONObject(conversation.answer(object).members + [.init(name: "members", value: .array(members))])
    }

    @Sendable private static func refusePicture(_ request: HTTPRequest) throws(ProtocolError) {
        let type = request.header("Content-Type")?.lowercasedASCII ?? ""
        guard ["multipart/", "image/", "application/octet-stream"].contains(where: type.hasPrefix) else { return }
        throw ProtocolError(
            .invalidRequest,
            "This server does not take the picture itself yet: upload it to where it is served over https, "
                + "and send its address as {\"imageUrl\":\"https://…\"}.")
    }

    /// Changes what differs from the user as it is now. Where that changes meanwhile, it is looked at again.
    @Sendable private static func save(
        _ exchange: Exchange, _ request: DialectRequest
    ) async throws(ProtocolError) -> ByteBuffer {
        let exchange = exchange.compatible
        var tries = 5
        while true {
            let me = try await exchange.object("me.get")
            let current = whole(me)
            try request.requireEchoes(of: current, updated: "updatedAt", at: "PUT /api/users/me")
            let changes = request.changes(from: current)
            guard !changes.given.isEmpty else { return current.buffer }
            let version = JSONObject.Member(name: "if_version", value: me["version"] ?? .null)
            let params = try changes.saved(over: current) + [version]
            do throws(ProtocolError) {
                return whole(try await exchange.object("me.save", JSONObject(params))).buffer
            } catch {
                tries -= 1
                guard error.code == .versionConflict, tries > 0 else { throw changes.renamed(error) }
            }
        }
    }
}

extension DialectRequest {
    /// The params of `me.save`.
    fileprivate func saved(over current: JSONObject) throws(ProtocolError) -> [JSONObject.Member] {
        let plain = given.filter { $0.field.ours != "full_name" && !$0.field.param.hasPrefix("avatar.") }
        var params = plain.map { JSONObject.Member(name: $0.field.param, value: $0.value) }
        params += try name(over: current)
        if let avatar = try avatar(over: current) { params.append(.init(name: "avatar", value: .object(avatar))) }
        return params
    }

    /// The name of which a part, or the whole, changes: its two parts or the whole. Empty where none changes.
    private func name(over current: JSONObject) throws(ProtocolError) -> [JSONObject.Member] {
        guard self["firstName"] != nil || self["lastName"] != nil else {
            return self["displayName"].map { [.init(name: "full_name", value: $0)] } ?? []
        }
        let parts = try ["firstName", "lastName"].map { name throws(ProtocolError) in
            switch self[name] ?? current[name] {
            case .string(let part)?: return part
            case .null?, nil: return ""
            default: throw .refused(name, "must be a string.")
            }
        }
        let joined = JSON.string(parts.filter { !$0.isEmpty }.joined(separator: " "))
        if let whole = self["displayName"], whole != joined {
            throw .refused("displayName", "differs from \"firstName\" and \"lastName\": give one of them.")
        }
        return zip(["first_name", "last_name"], parts).map { .init(name: $0, value: .string($1)) }
    }

    /// The avatar of which something changes, as `me.save` takes it; nil where nothing does.
    private func avatar(over current: JSONObject) throws(ProtocolError) -> JSONObject? {
        let (type, id, url) = (self["avatarType"], self["avatarId"], self["profilePictureUrl"])
        guard type != nil || id != nil || url != nil else { return nil }
        let meant: JSON
        switch (type, id ?? .null, url ?? .null) {
        case (let type?, _, _): meant = type
        case (nil, .null, .null): meant = .null
        case (nil, _, .null): meant = .string("built_in")
        case (nil, .null, _): meant = .string("custom")
        default: throw .refused("avatarId", "and \"profilePictureUrl\" are two avatars: there is one.")
        }
        var avatar: [JSONObject.Member] = [.init(name: "avatar_type", value: meant)]
        // What its type needs may be what it has.
        let kept = (id: meant == .string("built_in"), url: meant == .string("custom"))
        if let id = id ?? (kept.id ? current["avatarId"] : nil), id != .null {
            avatar.append(.init(name: "avatar_id", value: id))
        }
        if let url = url ?? (kept.url ? current["profilePictureUrl"] : nil), url != .null {
            avatar.append(.init(name: "avatar_url", value: url))
        }
        return JSONObject(avatar)
    }
}
