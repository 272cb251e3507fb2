import Foundations
import HTTPServing
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import WireProtocol

/// The endpoints `/api/users` and `/api/chats`. Each response about a user is the whole user.
///
/// Times have milliseconds, as those of the original JavaScript server.
enum UserCompatibilityEndpoints {
    static var paths: JSONObject { CompatibilityEndpoint.paths(of: all) }

    static let all = [
        CompatibilityEndpoint(.GET, "/api/users/me", "The whole user.", response: .schema("CompatibilityUser")) {
            context, _ throws(ProtocolError) in
            userObject(try await context.compatible.callForObject("me.get")).buffer
        },
        CompatibilityEndpoint(
            .PUT, "/api/users/me", "Changes the fields that are present. The whole user may be sent back.",
            operation: "me.save", fields: user.fields, acceptsWholeObject: true, errorStatuses: [409],
            response: .schema("CompatibilityUser"),
            perform: update),
        CompatibilityEndpoint(
            .POST, "/api/users/change-username", "Changes the username, once in 90 days.",
            operation: "me.change_username",
            fields: [FieldMapping("newUsername", "username", aliases: ["username"], .request)],
            required: ["newUsername"],
            errorStatuses: [409], response: .schema("CompatibilityUser")
        ) { context, request throws(ProtocolError) in
            userObject(try await context.compatible.callForObject("me.save", JSONObject(request.params))).buffer
        },
        CompatibilityEndpoint(
            .PUT, "/api/users/me/profile-picture", "Sets the profile picture to an https URL.",
            operation: "me.save",
            fields: [FieldMapping("imageUrl", "avatar_url", param: "avatar.avatar_url", .request)],
            required: ["imageUrl"],
            response: .schema("CompatibilityUser"), precheck: rejectUpload
        ) { context, request throws(ProtocolError) in
            let avatar: JSONObject = [
                "avatar_type": .string("custom"), "avatar_url": request["imageUrl"] ?? .null,
            ]
            return userObject(try await context.compatible.callForObject("me.save", ["avatar": .object(avatar)])).buffer
        },
        CompatibilityEndpoint(
            .GET, "/api/chats/conversations", "The caller's conversations with their participants, at most 100.",
            operation: "conversations.list", fields: MessageCompatibilityEndpoints.pageFields,
            response: ConversationPage.schema(of: .schema("CompatibilityConversation"))
        ) { context, request throws(ProtocolError) in
            // The app fetches all conversations with one request.
            try await ConversationPage.data(
                of: context.compatible, request, limit: 100, profilesKey: "participants", conversation(of:), userObject)
        },
    ]
}

/// The field mappings.
extension UserCompatibilityEndpoints {
    /// The fields of a user. The members of `attributes`, which are the app's own data, are added to them.
    private static let user = ObjectMapping(fields: [
        FieldMapping("id", .response),
        FieldMapping("apiId", "id", .response),
        // The app sends the email unchanged with each update.
        FieldMapping("email", .response, isPrivate: true),
        FieldMapping("username"),
        FieldMapping("firstName", "full_name", as: .firstName),
        FieldMapping("lastName", "full_name", as: .lastName),
        FieldMapping("displayName", "full_name"),
        FieldMapping("profilePictureUrl", "avatar_url", param: "avatar.avatar_url"),
        FieldMapping("avatarType", "avatar_type", param: "avatar.avatar_type"),
        FieldMapping("avatarId", "avatar_id", param: "avatar.avatar_id"),
        FieldMapping("bio"),
        FieldMapping("location"),
        FieldMapping("website"),
        FieldMapping("phoneNumber", "phone_number", aliases: ["phone"], isPrivate: true),
        FieldMapping("phoneVerified", "phone_verified", .response, isPrivate: true),
        FieldMapping("isVerified", "is_verified", .response),
        FieldMapping("language", "language_code", aliases: ["preferredLanguage"]),
        FieldMapping("birthdate", "date_of_birth", isPrivate: true),
        FieldMapping("preferences", isPrivate: true),
        FieldMapping("lastUsernameChange", "username_changed_at", .response, as: .time(digits: 3), isPrivate: true),
        FieldMapping("usernameChangeCount", "username_change_count", .response, isPrivate: true),
        FieldMapping(
            "usernameChangeAllowedAt", "username_change_allowed_at", .response, as: .time(digits: 3), isPrivate: true),
        FieldMapping("createdAt", "created_at", .response, as: .time(digits: 3)),
        FieldMapping("updatedAt", "updated_at", .response, as: .time(digits: 3)),
    ])

    private static let conversation = ObjectMapping(fields: [
        FieldMapping("id", .response),
        FieldMapping("kind", .response),
        FieldMapping("title", .response),
        FieldMapping("createdBy", "created_by", .response),
        FieldMapping("participant1Id", "participant1_id", .response),
        FieldMapping("participant2Id", "participant2_id", .response),
        FieldMapping("lastSeq", "last_seq", .response),
        FieldMapping("version", .response),
        FieldMapping("lastMessageContent", "last_message_content", .response),
        FieldMapping("lastMessageTime", "last_message_time", .response, as: .time(digits: 3)),
        FieldMapping("lastMessageSenderId", "last_message_sender_id", .response),
        FieldMapping("lastReadSeq", "last_read_seq", .response),
        FieldMapping("unreadCount", "unread_count", .response),
        FieldMapping("createdAt", "created_at", .response, as: .time(digits: 3)),
        FieldMapping("updatedAt", "updated_at", .response, as: .time(digits: 3)),
    ])

    /// The fields of a conversation's `members`.
    private static let member = ObjectMapping(fields: [
        FieldMapping("userId", "user_id", .response),
        FieldMapping("role", .response),
        FieldMapping("joinedAt", "joined_at", .response, as: .time(digits: 3)),
        FieldMapping("lastReadSeq", "last_read_seq", .response),
    ])

    /// The schemas of the responses, by their names in the OpenAPI document.
    static let schemas: [JSONObject.Member] = [
        .init(name: "CompatibilityUser", value: user.schema(of: "Me")),
        .init(name: "CompatibilityParticipant", value: user.schema(of: "Me", isForOthers: true)),
        .init(name: "CompatibilityConversation", value: conversationSchema),
    ]

    private static let conversationSchema: JSON = {
        let members = member.schema(of: "Conversation", "members")
        let inside: JSON = .object([
            "type": .string("object"), "required": .array([.string("members"), .string("participants")]),
            "properties": .object([
                "members": .object(["type": .string("array"), "items": members]),
                "participants": .object(["type": .string("array"), "items": .schema("CompatibilityParticipant")]),
            ]),
        ])
        return .object(["allOf": .array([conversation.schema(of: "Conversation"), inside])])
    }()
}

extension UserCompatibilityEndpoints {
    /// Returns a user, as seen by that user or by others, with the members of `attributes`.
    @Sendable private static func userObject(_ object: JSONObject) -> JSONObject {
        let members = user.encode(object).members
        guard case .object(let attributes)? = object["attributes"] else { return JSONObject(members) }
        // A mapped field takes precedence over an attribute of the same name.
        let rest = attributes.members.filter { member in !user.fields.contains { $0.matches(member.name) } }
        return JSONObject(members + rest)
    }

    @Sendable private static func conversation(of object: JSONObject) -> JSONObject {
        guard case .array(let protocolMembers)? = object["members"] else { return conversation.encode(object) }
        let members = protocolMembers.map { element -> JSON in
            guard case .object(let object) = element else { return element }
            return .object(member.encode(object))
        }
        return JSONObject(conversation.encode(object).members + [.init(name: "members", value: .array(members))])
    }

    @Sendable private static func rejectUpload(_ request: HTTPRequest) throws(ProtocolError) {
        let type = request.header("Content-Type")?.lowercasedASCII ?? ""
        guard ["multipart/", "image/", "application/octet-stream"].contains(where: type.hasPrefix) else { return }
        throw ProtocolError(
            .invalidRequest,
            "This endpoint accepts no upload. Upload the picture to a server that serves it over https, "
                + "and send its URL as {\"imageUrl\":\"https://…\"}.")
    }

    /// Updates the fields that differ from the current user. Retries up to five times if the user changes concurrently.
    @Sendable private static func update(
        _ context: RequestContext, _ request: CompatibilityRequest
    ) async throws(ProtocolError) -> ByteBuffer {
        let context = context.compatible
        var tries = 5
        while true {
            let me = try await context.callForObject("me.get")
            let current = userObject(me)
            try request.requireEchoes(of: current, versionField: "updatedAt", at: "PUT /api/users/me")
            let changes = request.changes(from: current)
            guard !changes.fields.isEmpty else { return current.buffer }
            let version = JSONObject.Member(name: "if_version", value: me["version"] ?? .null)
            let params = try changes.saveParams(current: current) + [version]
            do throws(ProtocolError) {
                return userObject(try await context.callForObject("me.save", JSONObject(params))).buffer
            } catch {
                tries -= 1
                guard error.code == .versionConflict, tries > 0 else { throw changes.translate(error) }
            }
        }
    }
}

extension CompatibilityRequest {
    /// Returns the params of `me.save`.
    fileprivate func saveParams(current: JSONObject) throws(ProtocolError) -> [JSONObject.Member] {
        let plain = fields.filter { $0.mapping.member != "full_name" && !$0.mapping.param.hasPrefix("avatar.") }
        var params = plain.map { JSONObject.Member(name: $0.mapping.param, value: $0.value) }
        params += try nameParams(current: current)
        if let avatar = try avatarParam(current: current) {
            params.append(.init(name: "avatar", value: .object(avatar)))
        }
        return params
    }

    /// Returns the params of a changed name: its two parts, or the full name. Returns none if the name does not change.
    private func nameParams(current: JSONObject) throws(ProtocolError) -> [JSONObject.Member] {
        guard self["firstName"] != nil || self["lastName"] != nil else {
            return self["displayName"].map { [.init(name: "full_name", value: $0)] } ?? []
        }
        let parts = try ["firstName", "lastName"].map { name throws(ProtocolError) in
            switch self[name] ?? current[name] {
            case .string(let part)?: return part
            case .null?, nil: return ""
            default: throw .invalidField(name, "must be a string.")
            }
        }
        let joined = JSON.string(parts.filter { !$0.isEmpty }.joined(separator: " "))
        if let whole = self["displayName"], whole != joined {
            throw .invalidField("displayName", "differs from \"firstName\" and \"lastName\": send one of them.")
        }
        return zip(["first_name", "last_name"], parts).map { .init(name: $0, value: .string($1)) }
    }

    /// Returns the `avatar` param of `me.save`, or nil if the avatar does not change.
    private func avatarParam(current: JSONObject) throws(ProtocolError) -> JSONObject? {
        let (type, id, url) = (self["avatarType"], self["avatarId"], self["profilePictureUrl"])
        guard type != nil || id != nil || url != nil else { return nil }
        let newType: JSON
        switch (type, id ?? .null, url ?? .null) {
        case (let type?, _, _): newType = type
        case (nil, .null, .null): newType = .null
        case (nil, _, .null): newType = .string("built_in")
        case (nil, .null, _): newType = .string("custom")
        default: throw .invalidField("avatarId", "and \"profilePictureUrl\" exclude each other: a user has one avatar.")
        }
        var avatar: [JSONObject.Member] = [.init(name: "avatar_type", value: newType)]
        // A value that the type requires is kept if the request does not set it.
        let kept = (id: newType == .string("built_in"), url: newType == .string("custom"))
        if let id = id ?? (kept.id ? current["avatarId"] : nil), id != .null {
            avatar.append(.init(name: "avatar_id", value: id))
        }
        if let url = url ?? (kept.url ? current["profilePictureUrl"] : nil), url != .null {
            avatar.append(.init(name: "avatar_url", value: url))
        }
        return JSONObject(avatar)
    }
}
