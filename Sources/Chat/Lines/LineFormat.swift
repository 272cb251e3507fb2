import Foundations
import Postline

/// Formats events in line mode, one per line, for people and scripts.
struct LineFormat: Sendable {
    /// True if avatars precede names, on terminals with colours.
    let showsAvatars: Bool

    /// Returns the lines for a notice, with the state after the event.
    func lines(_ notice: ChatNotice, _ model: ChatModel) -> [StyledLine] {
        let shown = model.shown
        switch notice {
        case .link(.connecting): return []
        case .link(.online):
            let me = shown.me?.profile.shownName ?? "nobody"
            return said("* connected as ", shown.myID.map { model.chip(of: $0) }, me)
        case .link(.offline):
            return said("* offline: the server is away. What you write is kept, and sent when it is back.")
        case .link(.ended(let reason)): return said("* ended: \(reason)")
        case .guest:
            let fate =
                model.isTemporary
                ? "when you leave, nobody can come back to this account."
                : "this account is kept here, and nowhere else."
            return said("* You are a guest: \(fate)")
                + said("* /upgrade EMAIL keeps it; /login EMAIL brings it into an account that you have.")
        case .opened(let id): return opened(id, model)
        case .conversations: return conversations(model)
        case .found(let users, let messages, let query):
            guard !users.isEmpty || !messages.isEmpty else {
                return said("* nobody and no message is found for “\(query)”")
            }
            let people = users.flatMap {
                said("  ", model.chip(of: $0), "\($0.shownName)  /open \($0.username ?? $0.shownName)")
            }
            return people + messages.flatMap { said("  \(shown.row(ofFound: $0))") }
        case .members:
            return (model.open?.members ?? []).flatMap { member in
                said(
                    "  ", model.chip(of: member.userID),
                    "\(shown.name(of: member.userID))  \(shown.users[member.userID]?.username ?? "")  \(member.role)")
            }
        case .ownMessages(let messages):
            guard !messages.isEmpty else { return said("* you have written nothing here yet") }
            return messages.flatMap { said("  \(TextWidth.fit($0.number, to: 6))\(PlainText.line($0.shownContent))") }
        case .numbered(let messages):
            guard !messages.isEmpty else { return said("* nobody has written here yet") }
            return messages.flatMap { message in
                said(
                    "  \(TextWidth.fit(message.number, to: 6))", model.chip(of: message.senderID),
                    "\(message.isMine ? "you" : shown.name(of: message.senderID)): "
                        + PlainText.line(message.shownContent))
            }
        case .scheduled(let messages):
            guard !messages.isEmpty else { return said("* no message is scheduled here") }
            return messages.enumerated().flatMap { said("  \($0.offset + 1)  \($0.element.row)") }
        case .blocked(let users):
            guard !users.isEmpty else { return said("* you block nobody") }
            return users.flatMap {
                said("  ", model.chip(of: $0), "\($0.shownName)  /unblock \($0.username ?? $0.shownName)")
            }
        case .edit(let message): return said("! Usage: /edit \(PlainText.line(message.content ?? "TEXT"))")
        case .me:
            return (shown.me?.fields ?? []).flatMap { field in
                said("  \(TextWidth.fit(field.label, to: 12))  \(field.value ?? "-")")
            }
        case .avatars:
            return model.catalogue.flatMap { avatar in
                said("  ", model.chip(trying: avatar), "\(TextWidth.fit(avatar.name, to: 14))  /avatar \(avatar.id)")
            }
        case .question(let question):
            let how = question.isSecret ? "not shown; " : ""
            return said("? \(question.label) (\(how)an empty line cancels):")
        case .help:
            return Help.commands.flatMap { group in
                said("* \(group.title)")
                    + group.rows.flatMap { said("  \(TextWidth.fit($0.usage, to: Help.usageWidth))\($0.meaning)") }
            }
        case .info(let text): return said("* \(text)")
        case .failed(let reason): return said("! \(reason)")
        case .refused(let change):
            let number = (shown.refused.firstIndex(of: change) ?? 0) + 1
            return said("! \(change.sentence)")
                + said("* /retry \(number) tries it again, /discard \(number) gives it up")
        case .refusals:
            guard !shown.refused.isEmpty else { return said("* nothing is refused") }
            return shown.refused.enumerated().flatMap { said("  \($0 + 1)  \($1.sentence)") }
        case .older(_, let messages):
            return messages.isEmpty ? said("* there is nothing older") : messages.flatMap { message($0, model) }
        case .news(let news): return lines(news, model)
        }
    }

    private func lines(_ news: ChatUpdate, _ model: ChatModel) -> [StyledLine] {
        let shown = model.shown
        switch news {
        case .message(let message): return self.message(message, model)
        case .skipped(let id, let count):
            return said("* \(count) more new messages in “\(shown.name(ofConversation: id))” are not shown here")
        case .changed(let message):
            let verb = message.isDeleted ? "deleted" : "edited"
            return said(
                "* \(shown.name(of: message.senderID)) \(verb) \(message.number): \(PlainText.line(message.shownContent))"
            )
        case .reacted(let message):
            let reactions = message.reactions.isEmpty ? "no reactions" : message.shownReactions
            return said("* \(message.number) has \(reactions): \(PlainText.line(message.shownContent))")
        case .pinned(let id, let seq, let isPinned):
            let place = id == model.openID ? "" : " in “\(shown.name(ofConversation: id))”"
            return said("* #\(seq) is \(isPinned ? "pinned" : "no longer pinned")\(place)")
        case .archived(let id, let isArchived):
            let state = isArchived ? "in the archive" : "no longer in the archive"
            return said("* “\(shown.name(ofConversation: id))” is \(state)")
        case .renamed(_, let from, let to): return said("* \(from) is now \(to)")
        case .newUsername(let id, let to):
            guard id == shown.myID else { return said("* \(shown.name(of: id)) is now @\(to)") }
            return said("* You are now @\(to)\(model.usernameCooldown).")
        case .newAvatar(let id):
            let who = id == shown.myID ? "You have" : "\(shown.name(of: id)) has"
            guard shown.users[id]?.avatarType != nil else { return said("* \(who) no avatar now") }
            var line = StyledLine("* \(who) a new avatar")
            guard showsAvatars else { return [line] }
            line.append(" ")
            line.append(model.chip(of: id))
            return [line]
        case .newBio(let isSet): return said(isSet ? "* Your bio is set." : "* Your bio is gone.")
        case .newPresence(let isHidden): return said("* \(ChatUpdate.words(isHidden: isHidden))")
        case .joined(let id): return said("* new conversation: \(shown.name(ofConversation: id))")
        case .left(_, let name): return said("* you are no longer in “\(name)”")
        case .retitled(let id, let from): return said("* “\(from)” is now “\(shown.name(ofConversation: id))”")
        case .added(let userID, let id):
            return said("* \(shown.name(of: userID)) is now in “\(shown.name(ofConversation: id))”")
        case .removed(_, let name, let id):
            return said("* \(name) is no longer in “\(shown.name(ofConversation: id))”")
        case .newRole(let userID, let id, let role):
            let who = userID == shown.myID ? "You are" : "\(shown.name(of: userID)) is"
            return said("* \(who) now \(role) of “\(shown.name(ofConversation: id))”")
        case .read(let conversationID, let userID, let seq):
            guard userID != shown.myID, conversationID == model.openID else { return [] }
            return said("* \(shown.name(of: userID)) has read up to #\(seq)")
        }
    }

    /// Returns the lines of a message. All but the first are indented.
    private func message(_ message: Message, _ model: ChatModel) -> [StyledLine] {
        let shown = model.shown
        let clock = WallTime(message.createdAt).clock
        let who = message.isMine ? "you" : shown.name(of: message.senderID)
        let place =
            message.conversationID == model.openID ? "" : "[\(shown.name(ofConversation: message.conversationID))] "
        let conversation = shown.conversation(message.conversationID)
        let texts = PlainText.lines(message.shownContent)
        var first = said("\(clock) \(place)", model.chip(of: message.senderID), "\(who): ")[0]
        first.append(texts.first ?? "", .plain, mentionsOf: message, in: conversation)
        if message.isOnItsWay { first.append(" …") }
        var lines = [first]
        for text in texts.dropFirst() {
            var line = StyledLine("      ")
            line.append(text, .plain, mentionsOf: message, in: conversation)
            lines.append(line)
        }
        if let quote = message.replyTo {
            let quoted = TextWidth.truncate(PlainText.line(shown.text(of: quote)), to: 60)
            lines += said("      > #\(quote.seq) \(quoted)")
        }
        if !message.reactions.isEmpty { lines += said("      [\(message.shownReactions)]") }
        return lines
    }

    private func opened(_ id: Conversation.ID, _ model: ChatModel) -> [StyledLine] {
        let messages = (model.shown.chats[id]?.messages ?? []).suffix(10)
        let draft = model.open?.draft.map { said("* not sent yet: \(PlainText.line($0))") } ?? []
        let pins = (model.open?.pinnedSeqs ?? []).map { "#\($0)" }.joined(separator: ", ")
        return said("* in “\(model.shown.name(ofConversation: id))”")
            + (pins.isEmpty ? [] : said("* pinned: \(pins); /pins shows them"))
            + messages.flatMap { message($0, model) } + draft
    }

    private func conversations(_ model: ChatModel) -> [StyledLine] {
        let conversations = model.shown.conversations
        guard !conversations.isEmpty else { return said("* no conversations yet; /open NAME begins one") }
        return conversations.enumerated().flatMap { index, conversation in
            let number = index + 1 < 10 ? " \(index + 1)" : "\(index + 1)"
            let mention = conversation.unreadMentions > 0 ? " @" : ""
            let unread = conversation.unreadCount > 0 ? "\(conversation.unreadCount) new\(mention)" : ""
            let last = PlainText.line(conversation.lastMessageSenderID == nil ? "" : conversation.shownLastContent)
            return said(
                "\(number)  ", model.chip(ofConversation: conversation.id),
                "\(TextWidth.fit(model.shown.name(ofConversation: conversation.id), to: 24))  "
                    + "\(TextWidth.fit(unread, to: 7))  \(TextWidth.truncate(last, to: 40))"
                    + (conversation.isArchived ? "  (archived)" : ""))
        }
    }

    /// Returns one line, with an avatar if they are shown.
    private func said(_ before: String, _ chip: AvatarChip? = nil, _ after: String = "") -> [StyledLine] {
        guard showsAvatars, let chip else { return [StyledLine(before + after)] }
        var line = StyledLine(before)
        line.append(chip)
        line.append(" " + after)
        return [line]
    }
}

extension Message {
    /// The number by which commands refer to the message.
    var number: String { seq.map { "#\($0)" } ?? "" }

    /// True if the server has not stored the message yet.
    var isOnItsWay: Bool { seq == nil }
}

extension RefusedChange {
    /// The refused change and the reason, as a sentence.
    var sentence: String {
        let whole = PlainText.line(content ?? "")
        let text = whole.count > 200 ? "\(whole.prefix(200))…" : whole
        return switch kind {
        case .message: "Not sent (\(error.sentence)): \(text)"
        case .edit: "Not edited (\(error.sentence)): \(text)"
        case .deletion: "Not deleted (\(error.sentence))"
        case .reaction: "No reaction (\(error.sentence)): \(text)"
        case .pin: "The pin is not changed (\(error.sentence))"
        case .settings: "The conversation is not changed (\(error.sentence))"
        case .readMark: "Not marked as read (\(error.sentence))"
        case .profile: error.sentence
        }
    }
}
