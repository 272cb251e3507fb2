import LineServer
import NIOCore
import NIOHTTP1
import WireProtocol

/// The endpoints for conversations and messages, with the protocol's names except in paths and queries.
///
/// A conversation includes its members' profiles, so that the app need not fetch them one by one.
enum MessageCompatibilityEndpoints {
    static var paths: JSONObject { CompatibilityEndpoint.paths(of: all) }

    static let all = [
        // fetchConversations()
        CompatibilityEndpoint(
            .GET, "/api/v1/conversations",
            "The caller's conversations with their members' profiles, newest message first.",
            operation: "conversations.list", fields: pageFields, response: conversationsSchema
        ) { context, request throws(ProtocolError) in
            try await ConversationPage.data(of: context, request, limit: 50, profilesKey: "profiles", { $0 }, { $0 })
        },
        // getOrCreateConversation()
        CompatibilityEndpoint(
            .POST, "/api/v1/conversations",
            "The direct conversation with another user, which is created if it does not exist.",
            operation: "conversations.open", fields: [FieldMapping("user_id", .request)], required: ["user_id"],
            errorStatuses: [404], response: .schema("ConversationWithProfiles")
        ) { context, request throws(ProtocolError) in
            let params = request.params + [.init(name: "profiles", value: .bool(true))]
            return try await context.call("conversations.open", JSONObject(params))
        },
        // fetchMessages()
        CompatibilityEndpoint(
            .GET, messagesPath, "Messages of a conversation: the newest, or those before or after a message.",
            operation: "messages.list",
            fields: [
                FieldMapping("before_seq", .request, as: .digits), FieldMapping("after_seq", .request, as: .digits),
                FieldMapping("limit", .request, as: .digits),
            ],
            errorStatuses: [404], response: .result(of: "messages.list")
        ) { context, request throws(ProtocolError) in
            try await context.callInConversation("messages.list", request.params)
        },
        // sendMessage()
        CompatibilityEndpoint(
            .POST, messagesPath, "Sends a message. A repeated client_id returns the message that was sent first.",
            operation: "messages.send",
            fields: ["content", "client_id", "kind", "attachment", "attachments"].map { FieldMapping($0, .request) },
            acceptsKey: true,
            errorStatuses: [404, 409], response: .schema("Message")
        ) { context, request throws(ProtocolError) in
            try await context.callInConversation(
                "messages.send", context.addingIdempotencyKey(to: JSONObject(request.params)).members)
        },
        // markMessagesAsRead()
        CompatibilityEndpoint(
            .POST, "/api/v1/conversations/{id}/read",
            "Moves the read mark to \"seq\", or to the last message if \"seq\" is absent.",
            operation: "messages.mark_read", fields: [FieldMapping("seq", .request)], errorStatuses: [404],
            response: .result(of: "messages.mark_read")
        ) { context, request throws(ProtocolError) in
            // The server lowers a mark beyond the last message to that message.
            let params = JSONObject(request.params)
            let hasMark = params["seq"] ?? .null != .null
            return try await context.callInConversation(
                "messages.mark_read", hasMark ? params.members : [.init(name: "seq", value: .integer(Int64.max))])
        },
        // searchUsers()
        CompatibilityEndpoint(
            .GET, "/api/v1/users/search", "Users by username or full name, best match first. Tolerates typos.",
            operation: "profiles.search",
            fields: [FieldMapping("q", "query", .request), FieldMapping("limit", .request, as: .digits)],
            required: ["q"], response: .result(of: "profiles.search")
        ) { context, request throws(ProtocolError) in
            try await context.call("profiles.search", JSONObject(request.params))
        },
    ]

    /// The query fields for a page of conversations.
    static let pageFields = [FieldMapping("limit", .request, as: .digits), FieldMapping("before", .request)]

    private static let messagesPath = "/api/v1/conversations/{id}/messages"

    private static let conversationsSchema = ConversationPage.schema(
        of: .schema("ConversationWithProfiles"))
}

extension RequestContext {
    /// Calls a method for the conversation in the path.
    fileprivate func callInConversation(
        _ method: String, _ params: [JSONObject.Member]
    ) async throws(ProtocolError) -> ByteBuffer {
        let conversation = JSONObject.Member(name: "conversation_id", value: .string(pathParameters["id"] ?? ""))
        do throws(ProtocolError) {
            return try await call(method, JSONObject([conversation] + params))
        } catch {
            throw error.field == conversation.name ? .invalidField("id", "must be a UUID.") : error
        }
    }
}
