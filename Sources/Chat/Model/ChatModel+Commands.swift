import Postline

/// Executes typed lines.
extension ChatModel {
    mutating func perform(_ command: TypedLine) -> [ChatOutput] {
        if command.writesMessage, let blockedReason { return [.notice(.failed(blockedReason))] }
        switch command {
        case .text(let text): return send(text)
        case .help: return [.notice(.help)]
        case .list: return [.notice(.conversations)]
        case .members: return [open == nil ? .notice(.failed(Self.noneIsOpen)) : .notice(.members)]
        case .older: return loadOlder(orSay: true)
        case .open(let name): return open(named: name)
        case .search(let query): return [.effect(.search(query: query, purpose: .show))]
        case .me: return [.notice(.me)]
        case .name(let name): return [.effect(.change(.name(name)))]
        case .username(let name?): return [.effect(.change(.username(name)))]
        case .username(nil): return [.notice(.info(usernameNow))]
        case .avatar(let choice?) where FileAction.path(choice) != nil:
            return [.effect(.file(.wear(path: choice)))]
        case .image(let path): return send(path, "")
        case .file(let path, let text): return send(path, text)
        case .save(let seq, let path): return save(seq, path)
        case .avatar(let choice?): return [.effect(.change(.avatar(avatar(choice))))]
        case .avatar(nil): return [.notice(catalogue.isEmpty ? .failed("The server offers no avatars.") : .avatars)]
        case .bio(let bio): return [.effect(.change(.bio(bio)))]
        case .upgrade(let email): return askGuest(.upgrade(email: email))
        case .signIn(let email): return askGuest(.signIn(email: email))
        case .password:
            guard shown.me?.isGuest == false else {
                return [.notice(.failed("A guest has no password. /upgrade EMAIL gives you one."))]
            }
            return ask(.changePassword)
        case .logout(let everywhere): return logout(everywhere: everywhere)
        case .deleteAccount: return ask(.delete(isGuest: shown.me?.isGuest ?? false))
        case .edit(let seq, let text): return edit(seq, text)
        case .delete(let seq): return delete(seq)
        case .reply(let seq, let text): return reply(seq, text)
        case .react(let seq, let emoji): return react(seq, emoji)
        case .thread(let seq): return thread(seq)
        case .pin(let seq, let isPinned): return pin(seq, isPinned)
        case .pins: return pins
        case .numbers:
            let last = openMessages.filter { $0.seq != nil }.suffix(20)
            return [.notice(open == nil ? .failed(Self.noneIsOpen) : .numbered(Array(last)))]
        case .later(let time, let text):
            guard let open else { return [.notice(.failed(Self.noneIsOpen))] }
            let details = Mentions.details(of: text, in: open)
            return [.effect(.schedule(.add(open.id, content: text, at: time, details: details)))]
        case .scheduled: return inOpen { .schedule(.list($0)) }
        case .unschedule(let number): return inOpen { .schedule(.remove($0, number: number)) }
        case .report(let seq, let reason, let comment): return report(seq, reason, comment)
        case .reportUser(let name, let reason, let comment):
            return reported(reason) { .user(who(name), $0, comment: comment) }
        case .block(let name): return block(name) { .block($0) }
        case .unblock(let name): return block(name) { .unblock($0) }
        case .blocked: return [.effect(.block(.list))]
        case .archive(let isArchived):
            guard let openID else { return [.notice(.failed(Self.noneIsOpen))] }
            return [.effect(.archive(conversationID: openID, isArchived: isArchived))]
        case .mine: return open == nil ? [.notice(.failed(Self.noneIsOpen))] : [.notice(.ownMessages(ownMessages))]
        case .group(let title, let names): return [.effect(.group(.create(title: title, with: names.map(who))))]
        case .add(let names): return inGroup { _, group in .add(names.map(who), to: group.id) }
        case .remove(let name):
            return inGroup { chat, group throws(Refusal) in
                .remove(userID: try chat.member(name, of: group), from: group.id)
            }
        case .leave: return inGroup { .leave($1.id) }
        case .rename(let title): return inGroup { .rename($1.id, to: title) }
        case .role(let role, let name):
            return inGroup { chat, group throws(Refusal) in
                .setRole(.init(rawValue: role), of: try chat.member(name, of: group), in: group.id)
            }
        case .mute(let minutes): return inOpen { .group(.mute($0, minutes: minutes)) }
        case .expire(let minutes): return inOpen { .group(.expire($0, minutes: minutes)) }
        case .unmute: return inOpen { .group(.unmute($0)) }
        case .hide(let isHidden): return [.effect(.change(.presence(isHidden: isHidden)))]
        case .refused: return [.notice(.refusals)]
        case .retry(let number):
            let outputs = onRefused(number) { .retry($0) }
            for case .effect(.retry(let changes)) in outputs { retried.formUnion(changes) }
            return outputs
        case .discard(let number): return onRefused(number) { .discard($0) }
        case .quit: return [.effect(.quit(saying: nil))]
        case .incomplete(let usage): return [.notice(.failed("Usage: \(usage)"))]
        case .unknown(let name): return [.notice(.failed("There is no command /\(name). /help lists the commands."))]
        }
    }

    static let noneIsOpen = "No conversation is open. /open NAME opens one."

    /// Handles a line that answers the question.
    mutating func answer(_ line: String) -> [ChatOutput] {
        guard var asked = question else { return [] }
        switch asked.take(line) {
        case .more:
            question = asked
            return [.notice(.question(asked))]
        case .done(let action):
            question = nil
            return changeAccount(by: action)
        case .given(let reason):
            question = nil
            return [.notice(.failed(reason))]
        }
    }

    private mutating func ask(_ purpose: Question.Purpose) -> [ChatOutput] {
        let question = Question(purpose)
        self.question = question
        return [.notice(.question(question))]
    }

    private mutating func askGuest(_ purpose: Question.Purpose) -> [ChatOutput] {
        guard shown.me?.isGuest == true else {
            let sentence = "You have an account already. /logout, and start the chat again to use another."
            return [.notice(.failed(sentence))]
        }
        return ask(purpose)
    }

    /// Signs out. Unsent messages would be lost, so it warns first.
    private mutating func logout(everywhere: Bool) -> [ChatOutput] {
        let again = "/logout\(everywhere ? " all" : "") once more does it."
        if !wasWarnedOfLoss, shown.waiting > 0 || shown.me?.isGuest == true {
            wasWarnedOfLoss = true
            let loss =
                shown.waiting > 0
                ? "What you wrote last is not sent yet, and would be lost."
                : "Nobody can come back to a guest's account. /upgrade EMAIL keeps it."
            return [.notice(.failed("\(loss) \(again)"))]
        }
        return changeAccount(by: .logout(everywhere: everywhere))
    }

    private mutating func changeAccount(by action: AccountAction) -> [ChatOutput] {
        switch action {
        case .logout, .delete: isSigningOut = true
        case .upgrade, .signIn, .changePassword: break
        }
        return [.effect(.account(action))]
    }

    private var usernameNow: String {
        guard let username = shown.me?.username else {
            return "You have no username yet. /username NAME gives you one."
        }
        return "You are @\(username)\(usernameCooldown)."
    }

    /// The time from which the username can change again, as the end of a sentence.
    var usernameCooldown: String {
        guard let next = shown.me?.usernameChangeAllowedAt else { return "" }
        return "; it can be changed again from \(WallTime(next).day) on"
    }

    /// Returns the avatar with this address, or this id or name in the catalogue. The server reports other errors.
    private func avatar(_ choice: String) -> ProfileEdit.AvatarChoice? {
        if choice.contains("://") { return .custom(url: choice) }
        let wanted = choice.lowercased()
        if wanted == "none" { return nil }
        return .builtIn(id: catalogue.first { $0.id == wanted || $0.name.lowercased() == wanted }?.id ?? choice)
    }

    private mutating func send(_ text: String) -> [ChatOutput] {
        guard let open else {
            return [.notice(.failed("No conversation is open. /open NAME opens one, /list shows them."))]
        }
        hasWritten()
        return [
            .effect(.send(conversationID: open.id, content: text, details: Mentions.details(of: text, in: open)))
        ]
    }

    /// Opens a conversation by its number in the list, then by name, then by searching for a user.
    private mutating func open(named name: String) -> [ChatOutput] {
        let conversations = shown.conversations
        if let number = Int(name) {
            guard conversations.indices.contains(number - 1) else {
                return [.notice(.failed("There is no conversation \(number). /list lists them."))]
            }
            return open(conversations[number - 1].id)
        }
        let wanted = name.lowercased()
        func names(_ conversation: Conversation) -> [String] {
            let username = conversation.otherUser?.username
            return [shown.name(ofConversation: conversation.id), username].compactMap { $0?.lowercased() }
        }
        if let exact = conversations.first(where: { names($0).contains(wanted) }) { return open(exact.id) }
        let beginning = conversations.filter { names($0).contains { $0.hasPrefix(wanted) } }
        if beginning.count == 1 { return open(beginning[0].id) }
        return [.effect(.search(query: name, purpose: .open))]
    }

    mutating func choose(among users: [User], for query: String) -> [ChatOutput] {
        let exact = users.filter { $0.isCalled(query) }
        if exact.count == 1 { return [.effect(.openDirect(exact[0]))] }
        if users.count == 1 { return [.effect(.openDirect(users[0]))] }
        return [.notice(.found(users, [], query: query))]
    }
}

/// Commands for existing messages.
extension ChatModel {
    /// The user's messages in the open conversation that can be changed, oldest first.
    var ownMessages: [Message] { openMessages.filter { $0.isMine && !$0.isDeleted } }

    private func ownMessage(_ seq: Int?) throws(Refusal) -> Message {
        guard open != nil else { throw Refusal(Self.noneIsOpen) }
        guard let seq else {
            guard let last = ownMessages.last else { throw Refusal("You have written nothing here yet.") }
            return last
        }
        guard let message = ownMessages.first(where: { $0.seq == seq }) else {
            throw Refusal("#\(seq) is not one of your messages. /mine lists them.")
        }
        return message
    }

    private func edit(_ seq: Int?, _ text: String?) -> [ChatOutput] {
        do {
            let message = try ownMessage(seq)
            guard let text else { return [.notice(.edit(message))] }
            return edit(message, to: text)
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Edits a message. A refused one is written again, and one in flight stays unchanged.
    func edit(_ message: Message, to text: String) -> [ChatOutput] {
        let details =
            shown.conversation(message.conversationID).map { Mentions.details(of: text, in: $0) } ?? MessageDetails()
        if message.seq != nil {
            return text == message.content ? [] : [.effect(.edit(message, content: text, details: details))]
        }
        guard case .refused(_, let change) = message.delivery else {
            return [.notice(.failed("It is still on its way. /delete gives it up, if you do not want it so."))]
        }
        guard message.attachments.isEmpty else {
            return [.notice(.failed("Its files were refused too. /delete gives it up; then send them again."))]
        }
        return [
            .effect(.discard([change])),
            .effect(.send(conversationID: message.conversationID, content: text, details: details)),
        ]
    }

    private func delete(_ seq: Int?) -> [ChatOutput] {
        do {
            return [.effect(delete(try ownMessage(seq)))]
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    /// Deletes a message. One that the server does not have is discarded.
    func delete(_ message: Message) -> ChatEffect {
        switch message.delivery {
        case .queued(let change) where message.seq == nil: .discard([change])
        case .refused(_, let change) where message.seq == nil: .discard([change])
        case .queued, .refused, .sent: .delete(message)
        }
    }

    private func onRefused(_ number: Int?, _ effect: ([Int64]) -> ChatEffect) -> [ChatOutput] {
        let all = shown.refused.map(\.id)
        guard !all.isEmpty else { return [.notice(.info("Nothing is refused."))] }
        guard let number else { return [.effect(effect(all))] }
        guard all.indices.contains(number - 1) else {
            return [.notice(.failed("There is no refused message \(number). /refused lists them."))]
        }
        return [.effect(effect([all[number - 1]]))]
    }
}

/// Commands for groups.
extension ChatModel {
    /// The reason why a command was not executed.
    struct Refusal: Error {
        let sentence: String
        init(_ sentence: String) { self.sentence = sentence }
    }

    private func inOpen(_ effect: (Conversation.ID) -> ChatEffect) -> [ChatOutput] {
        guard let openID else { return [.notice(.failed(Self.noneIsOpen))] }
        return [.effect(effect(openID))]
    }

    private func inGroup(_ action: (ChatModel, Conversation) throws(Refusal) -> GroupAction) -> [ChatOutput] {
        guard let open, open.kind == .group else {
            return [.notice(.failed("No group is open. /group TITLE with NAME, NAME makes one."))]
        }
        do {
            return [.effect(.group(try action(self, open)))]
        } catch {
            return [.notice(.failed(error.sentence))]
        }
    }

    private func member(_ name: String, of group: Conversation) throws(Refusal) -> User.ID {
        guard let person = group.users.first(where: { $0.isCalled(name) }) else {
            throw Refusal("Nobody here is called “\(name)”. /members shows who is here.")
        }
        return person.id
    }

    func who(_ name: String) -> GroupAction.Who {
        let called = shown.users.values.filter { $0.isCalled(name) }
        return called.count == 1 ? .known(id: called[0].id) : .named(name)
    }
}
