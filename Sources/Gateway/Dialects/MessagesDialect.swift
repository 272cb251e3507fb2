import LineServer
import Messaging
import NIOCore
import NIOHTTP1

/// The service calls of the messages document, in our own names: nothing is renamed but what stands in a path or query.
///
/// A conversation has the profiles of its members inside, since that document's app asks for them one by one.
enum MessagesDialect {
    static var paths: JSONObject { DialectEndpoint.paths(of: endpoints) }

    static let endpoints = [
        // fetchConversations()
        DialectEndpoint(
            .GET, "/api/v1/conversations", "The caller's conversations and their people, newest message first.",
            sets: "conversations.list", takes: page, answer: conversationsSchema
        ) { exchange, request throws(ProtocolError) in
            try await ConversationPage.data(of: exchange, request, limit: 50, people: "profiles", { $0 }, { $0 })
        },
        // getOrCreateConversation()
        DialectEndpoint(
            .POST, "/api/v1/conversations", "The one direct conversation with another user, made if there was none.",
            sets: "conversations.open", takes: [DialectField("user_id", .request)], required: ["user_id"],
            statuses: [404], answer: .schema("ConversationWithPeople")
        ) { exchange, request throws(ProtocolError) in
            let params = request.params + [.init(name: "profiles", value: .bool(true))]
            return try await exchange.call("conversations.open", JSONObject(params))
        },
        // fetchMessages()
        DialectEndpoint(
            .GET, messagesPath, "Messages of a conversation: the newest, or those just before or after one.",
            sets: "messages.list",
            takes: [
                DialectField("before_seq", .request, as: .digits), DialectField("after_seq", .request, as: .digits),
                DialectField("limit", .request, as: .digits),
            ],
            statuses: [404], answer: .result(of: "messages.list")
        ) { exchange, request throws(ProtocolError) in
            try await exchange.callInConversation("messages.list", request.params)
        },
        // sendMessage()
        DialectEndpoint(
            .POST, messagesPath, "Sends a message; with the client_id of an earlier one it is that message, once.",
            sets: "messages.send",
            takes: ["content", "client_id", "kind", "attachment"].map { DialectField($0, .request) }, takesKey: true,
            statuses: [404, 409], answer: .schema("Message")
        ) { exchange, request throws(ProtocolError) in
            try await exchange.callInConversation("messages.send", exchange.keyed(JSONObject(request.params)).members)
        },
        // markMessagesAsRead()
        DialectEndpoint(
            .POST, "/api/v1/conversations/{id}/read",
            "Moves the read mark: to \"seq\", or where it is absent to the end.",
            sets: "messages.mark_read", takes: [DialectField("seq", .request)], statuses: [404],
            answer: .result(of: "messages.mark_read")
        ) { exchange, request throws(ProtocolError) in
            // A mark beyond the last message is cut to it.
            let params = JSONObject(request.params)
            let isGiven = params["seq"] ?? .null != .null
            return try await exchange.callInConversation(
                "messages.mark_read", isGiven ? params.members : [.init(name: "seq", value: .integer(Int64.max))])
        },
        // searchUsers()
        DialectEndpoint(
            .GET, "/api/v1/users/search", "People by username or full name, best match first; typos are tolerated.",
            sets: "profiles.search",
            takes: [DialectField("q", "query", .request), DialectField("limit", .request, as: .digits)],
            required: ["q"], answer: .result(of: "profiles.search")
        ) { exchange, request throws(ProtocolError) in
            try await exchange.call("profiles.search", JSONObject(request.params))
        },
    ]

    /// Of the query of a list of conversations.
    static let page = [DialectField("limit", .request, as: .digits), DialectField("before", .request)]

    private static let messagesPath = "/api/v1/conversations/{id}/messages"

    private static let conversationsSchema = ConversationPage.schema(
        of: .schema("ConversationWithPeople"))
}

extension Exchange {
    /// Does what a method does in the conversation that the path names.
    fileprivate func callInConversation(
        _ method: String, _ params: [JSONObject.Member]
    ) async throws(ProtocolError) -> ByteBuffer {
        let conversation = JSONObject.Member(name: "conversation_id", value: .string(captures["id"] ?? ""))
        do throws(ProtocolError) {
            return try await call(method, JSONObject([conversation] + params))
        } catch {
            throw error.field == conversation.name ? .refused("id", "must be a UUID.") : error
        }
    }
}
