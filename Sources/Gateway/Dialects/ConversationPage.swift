import LineServer
import Messaging
import NIOCore
import NIOPosix

/// A page of `conversations.list` with the people of each conversation inside it.
///
/// A person who is in many conversations stands in each: the page is held to the bound of every answer, and ends early
/// where that is reached, as `conversations.list` does itself.
///
/// A page has up to 4 MiB, which is too much to read and write on an event loop: a pool's threads do it.
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
        _ conversation: @escaping @Sendable (JSONObject) -> JSONObject,
        _ person: @escaping @Sendable (JSONObject) -> JSONObject
    ) async throws(ProtocolError) -> ByteBuffer {
        var params = request.params.filter { $0.value != .null }
        if request["limit"] ?? .null == .null { params.append(.init(name: "limit", value: .integer(limit))) }
        while true {
            let page = try await exchange.call("conversations.list", JSONObject(params))
            let rewritten: Rewritten
            do {
                rewritten = try await NIOThreadPool.singleton.runIfActive {
                    try rewrite(page, people: people, conversation, person)
                }
            } catch {
                throw error as? ProtocolError ?? .fault("a page of conversations was not written: \(error)")
            }
            switch rewritten {
            case .whole(let data): return data
            // Where the next page begins, the same method says of a page of just these.
            case .first(let count):
                params = params.filter { $0.name != "limit" } + [.init(name: "limit", value: .integer(count))]
            }
        }
    }

    private enum Rewritten: Sendable {
        case whole(ByteBuffer)

        /// There is room for so many of the page's conversations.
        case first(Int)
    }

    private static func rewrite(
        _ page: ByteBuffer, people: String, _ conversation: (JSONObject) -> JSONObject,
        _ person: (JSONObject) -> JSONObject
    ) throws(ProtocolError) -> Rewritten {
        guard case .object(let page)? = try? JSON(parsing: page, maximumDepth: 512),
            case .array(let conversations)? = page["conversations"], case .array(let profiles)? = page["profiles"]
        else { throw .fault("the result of conversations.list cannot be read") }
        var persons: [String: ByteBuffer] = [:]
        for case .object(let profile) in profiles {
            if case .string(let id)? = profile["id"] { persons[id] = person(profile).buffer }
        }
        var data = ByteBuffer(string: #"{"conversations":["#)
        var written = 0
        for case .object(let ours) in conversations {
            if written > 0 { data.writeString(",") }
            write(conversation(ours), ours.memberIDs.compactMap { persons[$0] }, people, to: &data)
            if written > 0, data.readableBytes > room { return .first(written) }
            written += 1
        }
        data.writeString(#"],"next":"#)
        (page["next"] ?? .null).write(to: &data)
        data.writeString("}")
        return .whole(data)
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
                "next": .nullableText,
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
