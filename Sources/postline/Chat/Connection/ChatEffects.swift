internal import LineClient
internal import Messaging

/// Does what the chat asks of its connection, and reports what came of it.
struct ChatEffects: Sendable {
    let link: ServerLink
    let report: @Sendable (ChatEvent) -> Void

    /// Hands over what is only to be put in order; false where the effect asks for an answer (`perform`) or an end.
    func handOver(_ effect: ChatEffect) async -> Bool {
        switch effect {
        case .send(let message): await link.send(message)
        case .markRead(let conversationID, let seq): await link.markRead(conversationID, seq)
        case .search, .openDirect, .loadOlder, .rename, .quit: return false
        }
        return true
    }

    /// Asks the server and waits for its answer.
    func perform(_ effect: ChatEffect) async {
        do {
            switch effect {
            case .search(let query, let purpose):
                let answer = try await link.call("profiles.search", ["query": .string(query), "limit": .integer(20)])
                let people = (answer["profiles"]?.arrayValue ?? []).compactMap(Person.init)
                report(.found(query: query, people: people, purpose: purpose))
            case .openDirect(let person):
                let answer = try await link.call("conversations.open", ["user_id": .string(person.id)])
                guard let conversation = Conversation(answer) else { return }
                report(.opened(conversation, people: [person]))
            case .loadOlder(let conversationID, let beforeSeq):
                let answer = try await link.call(
                    "messages.list",
                    [
                        "conversation_id": .string(conversationID), "before_seq": .integer(beforeSeq),
                        "limit": .integer(50),
                    ])
                let messages = (answer["messages"]?.arrayValue ?? []).compactMap(Message.init)
                report(.older(conversationID: conversationID, messages))
            case .rename(let name):
                if let me = Person(try await link.call("me.update", ["full_name": .string(name)])) {
                    report(.renamed(me))
                }
            case .send, .markRead, .quit:
                break
            }
        } catch let error as RemoteError {
            report(.failed(error.message))
        } catch ConnectionError.closed {
            report(.failed("There is no connection to the server just now."))
        } catch {
            report(.failed("\(error)"))
        }
    }
}
