import Foundations
import Postline

/// Shows notices as a panel, or as a sentence at the bottom.
extension ScreenModel {
    mutating func show(_ notice: ChatNotice) {
        switch notice {
        case .opened(let id):
            begin(id)
        case .conversations:
            showList()
        case .failed(let reason):
            say(reason, .color(.red))
        case .info(let text):
            say(text, .dim)
        case .refused(let change):
            let number = (chat.shown.refused.firstIndex(of: change) ?? 0) + 1
            say("\(change.sentence) · /retry \(number) or /discard \(number)", .color(.red))
        case .refusals:
            guard !chat.shown.refused.isEmpty else { return say("Nothing is refused.", .dim) }
            panel = Panel(Array(chat.shown.refused.enumerated())) {
                StyledLine("  \($0.offset + 1)  \($0.element.sentence)")
            }
        case .ownMessages(let messages):
            guard !messages.isEmpty else { return say("You have written nothing here yet.", .dim) }
            showNumbered(messages)
        case .numbered(let messages):
            guard !messages.isEmpty else { return say("Nobody has written here yet.", .dim) }
            showNumbered(messages)
        case .scheduled(let messages):
            guard !messages.isEmpty else { return say("No message is scheduled here.", .dim) }
            panel = Panel(Array(messages.enumerated())) { StyledLine("  \($0.offset + 1)  \($0.element.row)") }
        case .blocked(let users):
            guard !users.isEmpty else { return say("You block nobody.", .dim) }
            panel = Panel(users) { row(of: $0, with: "/unblock") }
        case .edit(let message):
            edit(message)
        case .help:
            panel = .help
        case .found(let users, let messages, let query):
            guard !users.isEmpty || !messages.isEmpty else {
                say("Nobody is called “\(query)”, and no message has these words.", .color(.yellow))
                return
            }
            let people = users.map { row(of: $0, with: "/open") }
            panel = Panel(people + messages.map { StyledLine("  \(chat.shown.row(ofFound: $0))") }) { $0 }
        case .members:
            let shown = chat.shown
            panel = Panel(chat.open?.members ?? []) { member in
                var line = StyledLine("  ")
                line.append(chat.chip(of: member.userID))
                line.append("  ")
                line.append(TextWidth.fit(shown.name(of: member.userID), to: 28), .bold)
                line.append(TextWidth.fit(shown.users[member.userID]?.username ?? "", to: 24))
                line.append(member.role.rawValue, .dim)
                return line
            }
        case .me:
            panel = chat.shown.me.map { Panel($0, chip: chat.chip(of: $0.profile), width: screenWidth) }
        case .avatars:
            let mine = chat.shown.me?.profile.avatar
            panel = Panel(chat.catalogue) { avatar in
                var line = StyledLine("  ")
                line.append(chat.chip(trying: avatar))
                line.append("  ")
                line.append(TextWidth.fit(avatar.name, to: 14), .bold)
                line.append("/avatar \(avatar.id)", .dim)
                if mine == .builtIn(id: avatar.id) { line.append("  yours", .color(.green)) }
                return line
            }
        case .question:
            beginAnswering()
        case .guest:
            // ClientSnapshot while no conversation is open.
            break
        case .news(.newUsername(let id, let to)):
            let isMine = id == chat.shown.myID
            say(
                isMine ? "You are now @\(to)\(chat.usernameCooldown)." : "\(chat.shown.name(of: id)) is now @\(to)",
                .dim)
        case .news(.newBio(let isSet)):
            say(isSet ? "Your bio is set." : "Your bio is gone.", .dim)
        case .news(.newPresence(let isHidden)):
            say(ChatUpdate.words(isHidden: isHidden), .dim)
        case .news(.newAvatar(let id)) where id == chat.shown.myID:
            say(
                chat.shown.users[id]?.avatarType == nil ? "You have no avatar now." : "You have a new avatar.",
                .dim)
        case .news(.pinned(let id, let seq, let isPinned)) where id == chat.openID:
            say("#\(seq) is \(isPinned ? "pinned" : "no longer pinned").", .dim)
        case .news(.archived(let id, let isArchived)):
            let state = isArchived ? "in the archive" : "no longer in the archive"
            say("“\(chat.shown.name(ofConversation: id))” is \(state).", .dim)
        case .news(.left(_, let name)):
            say("You are no longer in “\(name)”.", .color(.yellow))
        case .news(.renamed(_, let from, let to)):
            say("\(from) is now \(to)", .dim)
        case .link(.offline):
            lost()
        case .link(.online):
            connected()
        case .link(.ended):
            end()
        case .link(.connecting), .news, .older:
            break
        }
    }

    /// Returns the row of a user with a command for it.
    private func row(of user: User, with command: String) -> StyledLine {
        var line = StyledLine("  ")
        line.append(chat.chip(of: user))
        line.append("  ")
        line.append(TextWidth.fit(user.shownName, to: 28), .bold)
        line.append("\(command) \(user.username ?? user.shownName)", .dim)
        return line
    }

    private mutating func showNumbered(_ messages: [Message]) {
        panel = Panel(messages) { message in
            var line = StyledLine("  ")
            line.append(TextWidth.fit(message.number, to: 6), .dim)
            if !message.isMine { line.append("\(chat.shown.name(of: message.senderID)): ", .bold) }
            line.append(PlainText.line(message.shownContent))
            return line
        }
    }
}
