/// What the chat says in line mode: one event, one line, for eyes and for scripts.
struct LineFormat: Sendable {
    /// The lines for a notice, in the world as it is after what happened.
    static func lines(_ notice: ChatNotice, _ model: ChatModel) -> [String] {
        let world = model.world
        switch notice {
        case .link(.connecting): return []
        case .link(.online):
            let me = world.myID.map { world.name(of: $0) } ?? "nobody"
            return ["* connected as \(me)"]
        case .link(.offline(let reason, let wait)):
            return ["* offline: \(sentence(reason)) Trying again in \(wait.tenthsOfSeconds) s."]
        case .link(.ended(let reason)): return ["* ended: \(reason)"]
        case .opened(let id): return opened(id, model)
        case .conversations: return conversations(world)
        case .people(let people, let query):
            guard !people.isEmpty else { return ["* nobody is found for “\(query)”"] }
            return people.map { "  \($0.name)  /open \($0.username ?? $0.name)" }
        case .members:
            let members = model.openID.flatMap { world.conversations[$0] }?.members ?? []
            return members.map {
                "  \(world.name(of: $0.userID))  \(world.people[$0.userID]?.username ?? "")  \($0.role)"
            }
        case .help: return ChatCommand.usages.map { "  \(TextWidth.fit($0.usage, to: 14))\($0.meaning)" }
        case .info(let text): return ["* \(text)"]
        case .failed(let reason): return ["! \(reason)"]
        case .refused(let message, let reason): return ["! not sent (\(reason)): \(PlainText.line(message.content))"]
        case .older(_, let messages):
            return messages.isEmpty ? ["* there is nothing older"] : messages.flatMap { message($0, model) }
        case .world(let event): return lines(event, model)
        }
    }

    private static func lines(_ event: World.Event, _ model: ChatModel) -> [String] {
        let world = model.world
        switch event {
        case .reset: return []
        case .message(let message): return self.message(message, model)
        case .skipped(let id, let count):
            return ["* \(count) more new messages in “\(world.name(ofConversation: id))” are not shown here"]
        case .changed(let message):
            let verb = message.isDeleted ? "deleted" : "edited"
            return [
                "* \(world.name(of: message.senderID)) \(verb) #\(message.seq): \(PlainText.line(message.shownContent))"
            ]
        case .renamed(_, let from, let to): return ["* \(from) is now \(to)"]
        case .joined(let id): return ["* new conversation: \(world.name(ofConversation: id))"]
        case .left(_, let name): return ["* you are no longer in “\(name)”"]
        case .retitled(let id, let from): return ["* “\(from)” is now “\(world.name(ofConversation: id))”"]
        case .read(let read):
            guard read.userID != world.myID, read.conversationID == model.openID else { return [] }
            return ["* \(world.name(of: read.userID)) has read up to #\(read.lastReadSeq)"]
        }
    }

    /// The message's lines; those after the first are indented.
    private static func message(_ message: Message, _ model: ChatModel) -> [String] {
        let world = model.world
        let clock = WireTime(message.createdAt)?.clock ?? "--:--"
        let who = message.senderID == world.myID ? "you" : world.name(of: message.senderID)
        let place =
            message.conversationID == model.openID ? "" : "[\(world.name(ofConversation: message.conversationID))] "
        let texts = PlainText.lines(message.shownContent)
        return ["\(clock) \(place)\(who): \(texts.first ?? "")"] + texts.dropFirst().map { "      \($0)" }
    }

    private static func opened(_ id: String, _ model: ChatModel) -> [String] {
        let messages = (model.world.messages[id] ?? []).suffix(10)
        return ["* in “\(model.world.name(ofConversation: id))”"] + messages.flatMap { message($0, model) }
    }

    private static func conversations(_ world: World) -> [String] {
        let conversations = world.ordered
        guard !conversations.isEmpty else { return ["* no conversations yet; /open NAME begins one"] }
        return conversations.enumerated().map { index, conversation in
            let number = index + 1 < 10 ? " \(index + 1)" : "\(index + 1)"
            let unread = conversation.unreadCount > 0 ? "\(conversation.unreadCount) new" : ""
            let last = PlainText.line(conversation.lastContent ?? "")
            return "\(number)  \(TextWidth.fit(world.name(ofConversation: conversation.id), to: 24))  "
                + "\(TextWidth.fit(unread, to: 7))  \(TextWidth.truncate(last, to: 40))"
        }
    }

    private static func sentence(_ reason: String) -> String { reason.hasSuffix(".") ? reason : reason + "." }
}
