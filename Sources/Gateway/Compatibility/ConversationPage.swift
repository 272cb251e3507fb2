import DatabaseAccess
import Foundations
import Messaging
import NIOCore
import NIOPosix
import WireProtocol

/// A page of `conversations.list` in which each conversation contains its members' profiles.
///
/// A profile is repeated in each of its conversations. So the page ends early at 1 MiB, which is too much to convert on
/// an event loop: a thread pool converts it. Client addresses take turns at pages, since many large ones would keep the
/// processors from other requests.
enum ConversationPage {
    /// The bytes for conversations, without the envelope around them.
    private static let maxBytes = 1 << 20

    /// Returns a page as JSON text.
    ///
    /// - Parameters:
    ///   - limit: the most conversations, if the request does not say.
    ///   - profilesKey: the name of the member that has a conversation's profiles.
    ///   - encodeConversation: converts a conversation to the endpoint's names.
    ///   - encodeProfile: converts a profile to the endpoint's names.
    static func data(
        of context: RequestContext, _ request: CompatibilityRequest, limit: Int, profilesKey: String,
        _ encodeConversation: @escaping @Sendable (JSONObject) -> JSONObject,
        _ encodeProfile: @escaping @Sendable (JSONObject) -> JSONObject
    ) async throws(ProtocolError) -> ByteBuffer {
        let address = AddressKey(context.clientAddress)
        return try await context.gateway.conversationPages.run(at: address) { () throws(ProtocolError) in
            try await read(
                context, request, limit: limit, profilesKey: profilesKey, encodeConversation, encodeProfile)
        }
    }

    private static func read(
        _ context: RequestContext, _ request: CompatibilityRequest, limit: Int, profilesKey: String,
        _ encodeConversation: @escaping @Sendable (JSONObject) -> JSONObject,
        _ encodeProfile: @escaping @Sendable (JSONObject) -> JSONObject
    ) async throws(ProtocolError) -> ByteBuffer {
        var params = request.params.filter { $0.value != .null }
        if request["limit"] ?? .null == .null { params.append(.init(name: "limit", value: .integer(limit))) }
        while true {
            let page = try await context.call("conversations.list", JSONObject(params))
            let conversion: Conversion
            do {
                conversion = try await NIOThreadPool.singleton.runIfActive {
                    try convert(page, profilesKey: profilesKey, encodeConversation, encodeProfile)
                }
            } catch {
                throw error as? ProtocolError ?? .fault("a page of conversations was not written: \(error)")
            }
            switch conversion {
            case .complete(let data): return data
            // Fetches a page of only these conversations, which has the cursor for the next page.
            case .fits(let count):
                params = params.filter { $0.name != "limit" } + [.init(name: "limit", value: .integer(count))]
            }
        }
    }

    private enum Conversion: Sendable {
        case complete(ByteBuffer)

        /// The number of conversations that fit into a response.
        case fits(Int)
    }

    private static func convert(
        _ page: ByteBuffer, profilesKey: String, _ encodeConversation: (JSONObject) -> JSONObject,
        _ encodeProfile: (JSONObject) -> JSONObject
    ) throws(ProtocolError) -> Conversion {
        guard case .object(let page)? = try? JSON(parsing: page, maximumDepth: 512),
            case .array(let conversations)? = page["conversations"], case .array(let profiles)? = page["profiles"]
        else { throw .fault("the result of conversations.list cannot be read") }
        var profileTexts: [String: ByteBuffer] = [:]
        for case .object(let profile) in profiles {
            if case .string(let id)? = profile["id"] { profileTexts[id] = encodeProfile(profile).buffer }
        }
        var data = ByteBuffer(string: #"{"conversations":["#)
        var written = 0
        for case .object(let source) in conversations {
            if written > 0 { data.writeString(",") }
            write(encodeConversation(source), source.memberIDs.compactMap { profileTexts[$0] }, profilesKey, to: &data)
            if written > 0, data.readableBytes > maxBytes { return .fits(written) }
            written += 1
        }
        data.writeString(#"],"next":"#)
        (page["next"] ?? .null).write(to: &data)
        data.writeString("}")
        return .complete(data)
    }

    /// Writes a conversation with its profiles, or as many profiles of a large group as fit into a response.
    private static func write(
        _ conversation: JSONObject, _ profiles: [ByteBuffer], _ profilesKey: String, to data: inout ByteBuffer
    ) {
        data.writeString("{")
        for member in conversation.members {
            member.write(to: &data)
            data.writeString(",")
        }
        data.writeJSONString(profilesKey)
        data.writeString(":[")
        var bytes = 0
        for (index, profile) in profiles.enumerated() {
            bytes += profile.readableBytes + 1
            if bytes > maxBytes { break }
            if index > 0 { data.writeString(",") }
            data.writeImmutableBuffer(profile)
        }
        data.writeString("]}")
    }

    /// Returns the schema of a page of conversations.
    static func schema(of conversation: JSON) -> JSON {
        .object([
            "type": .string("object"), "required": .array([.string("conversations"), .string("next")]),
            "properties": .object([
                "conversations": .object(["type": .string("array"), "items": conversation]),
                "next": .nullableText,
            ]),
        ])
    }
}

extension JSONObject {
    /// The ids of a conversation's members.
    fileprivate var memberIDs: [String] {
        guard case .array(let members)? = self["members"] else { return [] }
        return members.compactMap { member in
            guard case .object(let member) = member, case .string(let id)? = member["user_id"] else { return nil }
            return id
        }
    }
}
