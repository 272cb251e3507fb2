internal import TerminalText

/// What the chat says in line mode: one event, one line, for eyes and for scripts.
struct LineFormat: Sendable {
    /// Whether avatars stand before names: where colours can be seen.
    let showsAvatars: Bool

    /// The lines for a notice, in the world as it is after what happened.
    func lines(_ notice: ChatNotice, _ model: ChatModel) -> [StyledLine] {
        let world = model.world
        switch notice {
        case .link(.connecting): return []
        case .link(.online):
            let me = world.myID.map { world.name(of: $0) } ?? "nobody"
            return said("* connected as ", world.myID.map { model.chip(of: $0) }, me)
        case .link(.offline(let reason, let wait)):
            return said("* offline: \(sentence(reason)) Trying again in \(wait.tenthsOfSeconds) s.")
        case .link(.ended(let reason)): return said("* ended: \(reason)")
        case .guest:
            return said("* You are a guest: when you leave, nobody can come back to this account.")
                + said("* /upgrade EMAIL keeps it; /login EMAIL brings it into an account that you have.")
        case .opened(let id): return opened(id, model)
        case .conversations: return conversations(model)
        case .people(let people, let query):
            guard !people.isEmpty else { return said("* nobody is found for “\(query)”") }
            return people.flatMap { said("  ", model.chip(of: $0), "\($0.name)  /open \($0.username ?? $0.name)") }
        case .members:
            let members = model.openID.flatMap { world.conversations[$0] }?.members ?? []
            return members.flatMap { member in
                said(
                    "  ", model.chip(of: member.userID),
                    "\(world.name(of: member.userID))  \(world.people[member.userID]?.username ?? "")  \(member.role)")
            }
        case .me:
            return (world.me?.facts ?? []).flatMap { fact in
                said("  \(TextWidth.fit(fact.label, to: 12))  \(fact.value ?? "-")")
            }
        case .avatars:
            return model.catalogue.flatMap { avatar in
                said("  ", model.chip(trying: avatar), "\(TextWidth.fit(avatar.name, to: 14))  /avatar \(avatar.id)")
            }
        case .question(let question):
            let how = question.isSecret ? "not shown; " : ""
            return said("? \(question.label) (\(how)an empty line gives up):")
        case .help:
            return TypedLine.usages.flatMap { said("  \(TextWidth.fit($0.usage, to: 15))\($0.meaning)") }
        case .info(let text): return said("* \(text)")
        case .failed(let reason): return said("! \(reason)")
        case .refused(let message, let reason):
            return said("! not sent (\(reason)): \(PlainText.line(message.content))")
        case .older(_, let messages):
            return messages.isEmpty ? said("* there is nothing older") : messages.flatMap { message($0, model) }
        case .world(let event): return lines(event, model)
        }
    }

    private func lines(_ event: World.Event, _ model: ChatModel) -> [StyledLine] {
        let world = model.world
        switch event {
        case .reset: return []
        case .message(let message): return self.message(message, model)
        case .skipped(let id, let count):
            return said("* \(count) more new messages in “\(world.name(ofConversation: id))” are not shown here")
        case .changed(let message):
            let verb = message.isDeleted ? "deleted" : "edited"
            return said(
                "* \(world.name(of: message.senderID)) \(verb) #\(message.seq): \(PlainText.line(message.shownContent))"
            )
        case .renamed(_, let from, let to): return said("* \(from) is now \(to)")
        case .newUsername(let id, let to):
            guard id == world.myID else { return said("* \(world.name(of: id)) is now @\(to)") }
            return said("* You are now @\(to)\(model.usernameCooldown).")
        case .newAvatar(let id):
            let who = id == world.myID ? "You have" : "\(world.name(of: id)) has"
            guard world.people[id]?.avatar != Avatar.none else { return said("* \(who) no avatar now") }
            var line = StyledLine("* \(who) a new avatar")
            guard showsAvatars else { return [line] }
            line.append(" ")
            line.append(model.chip(of: id))
            return [line]
        case .joined(let id): return said("* new conversation: \(world.name(ofConversation: id))")
        case .left(_, let name): return said("* you are no longer in “\(name)”")
        case .retitled(let id, let from): return said("* “\(from)” is now “\(world.name(ofConversation: id))”")
        case .read(let read):
            guard read.userID != world.myID, read.conversationID == model.openID else { return [] }
            return said("* \(world.name(of: read.userID)) has read up to #\(read.lastReadSeq)")
        }
    }

    /// The message's lines; those after the first are indented.
    private func message(_ message: Message, _ model: ChatModel) -> [StyledLine] {
        let world = model.world
        let clock = WireTime(message.createdAt)?.clock ?? "--:--"
        let who = message.senderID == world.myID ? "you" : world.name(of: message.senderID)
        let place =
            message.conversationID == model.openID ? "" : "[\(world.name(ofConversation: message.conversationID))] "
        let texts = PlainText.lines(message.shownContent)
        return said("\(clock) \(place)", model.chip(of: message.senderID), "\(who): \(texts.first ?? "")")
            + texts.dropFirst().flatMap { said("      \($0)") }
    }

    private func opened(_ id: String, _ model: ChatModel) -> [StyledLine] {
        let messages = (model.world.messages[id] ?? []).suffix(10)
        return said("* in “\(model.world.name(ofConversation: id))”") + messages.flatMap { message($0, model) }
    }

    private func conversations(_ model: ChatModel) -> [StyledLine] {
        let world = model.world
        let conversations = world.ordered
        guard !conversations.isEmpty else { return said("* no conversations yet; /open NAME begins one") }
        return conversations.enumerated().flatMap { index, conversation in
            let number = index + 1 < 10 ? " \(index + 1)" : "\(index + 1)"
            let unread = conversation.unreadCount > 0 ? "\(conversation.unreadCount) new" : ""
            let last = PlainText.line(conversation.lastContent ?? "")
            return said(
                "\(number)  ", model.chip(ofConversation: conversation.id),
                "\(TextWidth.fit(world.name(ofConversation: conversation.id), to: 24))  "
                    + "\(TextWidth.fit(unread, to: 7))  \(TextWidth.truncate(last, to: 40))")
        }
    }

    /// One line, in it an avatar where those are shown.
    private func said(_ before: String, _ chip: AvatarChip? = nil, _ after: String = "") -> [StyledLine] {
        guard showsAvatars, let chip else { return [StyledLine(before + after)] }
        var line = StyledLine(before)
        line.append(chip)
        line.append(" " + after)
        return [line]
    }

    private func sentence(_ reason: String) -> String { reason.hasSuffix(".") ? reason : reason + "." }
}
