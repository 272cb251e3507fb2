import LineServer
import Messaging
import NIOCore

/// A page of `conversations.list` with the people of each conversation inside it.
///
/// A person who is in many conversations stands in each: the page is held to the bound of every answer, and ends early
/// where that is reached, as `conversations.list` does itself.
enum ConversationPage {
    /// Left for what stands around the conversations.
    private static let room = Answer.maxLineBytes - 65_536

    /// - Parameters:
    ///   - limit: how many conversations at most, where the request does not say.
    ///   - people: what a conversation's people are called.
    ///   - conversation: makes of one of ours one of the document's.
    ///   - person: makes of a profile of ours one of the document's users.
    static func data(
        of exchange: Exchange, _ request: DialectRequest, limit: Int, people: String,
        _ conversation: @Sendable (JSONObject) -> JSONObject, _ person: @Sendable (JSONObject) -> JSONObject
    ) async throws(ProtocolError) -> ByteBuffer {
        var params = request.params.filter { $0.value != .null }
        if request["limit"] ?? .null == .null { params.append(.init(name: "limit", value: .integer(limit))) }
        while true {
            let page = try await exchange.object("conversations.list", JSONObject(params))
            guard case .array(let conversations)? = page["conversations"], case .array(let profiles)? = page["profiles"]
            else { throw .fault("conversations.list has no conversations") }
            var persons: [String: ByteBuffer] = [:]
            for case .object(let profile) in profiles {
                if case .string(let id)? = profile["id"] { persons[id] = person(profile).buffer }
            }
            var data = ByteBuffer(string: #"{"conversations":["#)
            var written = 0
            for case .object(let ours) in conversations {
                let start = data.writerIndex
                if written > 0 { data.writeString(",") }
                write(conversation(ours), ours.memberIDs.compactMap { persons[$0] }, people, to: &data)
                if written > 0, data.readableBytes > room {
                    data.moveWriterIndex(to: start)
                    break
                }
                written += 1
            }
            if written == conversations.count {
                data.writeString(#"],"next":"#)
                (page["next"] ?? .null).write(to: &data)
                data.writeString("}")
                return data
            }
            // Where the next page begins, the same method says of a page of just these.
            params = params.filter { $0.name != "limit" } + [.init(name: "limit", value: .integer(written))]
        }
    }

    /// Of a group that alone is more than an answer, as many people as there is room for.
    private static func write(
        _ conversation: JSONObject, _ persons: [ByteBuffer], _ people: String, to data: inout ByteBuffer
    ) {
        data.writeString("{")
        for member in conversation.members {
            member.write(to: &data)
            data.writeString(",")
        }
        data.writeJSONString(people)
        data.writeString(":[")
        var bytes = 0
        for (index, person) in persons.enumerated() {
            bytes += person.readableBytes + 1
            if bytes > room { break }
            if index > 0 { data.writeString(",") }
            data.writeImmutableBuffer(person)
        }
        data.writeString("]}")
    }

    /// The schema of a page of such conversations.
    static func schema(of conversation: JSON) -> JSON {
        .object([
            "type": .string("object"), "required": .array([.string("conversations"), .string("next")]),
            "properties": .object([
                "conversations": .object(["type": .string("array"), "items": conversation]),
                "next": .object(["type": .array([.string("string"), .string("null")])]),
            ]),
        ])
    }
}

extension JSONObject {
    /// Of a conversation.
    fileprivate var memberIDs: [String] {
        guard case .array(let members)? = self["members"] else { return [] }
        return members.compactMap { member in
            guard case .object(let member) = member, case .string(let id)? = member["user_id"] else { return nil }
            return id
        }
    }
}
