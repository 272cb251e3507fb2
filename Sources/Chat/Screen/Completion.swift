import Foundations
import Postline

/// The candidates that Tab offers for the text before the cursor: commands, names or usernames.
struct Completion: Sendable, Equatable {
    /// The text that a candidate replaces.
    let typed: String
    /// The texts to insert. A blank at the end says that more follows.
    let candidates: [String]
    /// The candidate in the line, or nil while only the beginning that all share is there.
    private(set) var chosen: Int?

    /// Finds the candidates for the end of a line.
    ///
    /// - Returns: nil if there is nothing of the kind that can be completed.
    init?(_ line: String, _ chat: ChatModel) {
        if line.hasPrefix("/"), !line.hasPrefix("//") {
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                typed = line
                candidates = Help.commands.flatMap(\.rows).compactMap(\.command)
                    .filter { $0.hasPrefix(line.lowercased()) }
                return
            }
            if let found = Self.argument(parts[1].drop { $0 == " " }, of: parts[0].lowercased(), chat) {
                (typed, candidates) = found
                return
            }
        }
        guard let word = line.split(omittingEmptySubsequences: false, whereSeparator: \.isWhitespace).last,
            word.hasPrefix("@")
        else { return nil }
        let mention = String(word)
        typed = mention
        let near = chat.open?.users ?? []
        let users = near + chat.completableUsers.filter { person in !near.contains { $0.id == person.id } }
        candidates = users.filter { $0.id != chat.shown.myID && Self.isMeant($0.shownName, $0.username, by: mention) }
            .compactMap(\.username).map { "@\($0) " }
    }

    /// The text to put in the line: the chosen candidate, the only one, or the beginning that all of them share.
    var text: String {
        if let chosen { return candidates[chosen] }
        guard candidates.count > 1 else { return candidates.first ?? typed }
        let shared = candidates.dropFirst()
            .reduce(candidates[0]) { shared, next in
                String(zip(shared, next).prefix { $0.lowercased() == $1.lowercased() }.map(\.0))
            }
        return shared.count > typed.count && shared.lowercased().hasPrefix(typed.lowercased()) ? shared : typed
    }

    /// Goes to the next candidate, or to the one before; from the last to the first.
    mutating func choose(by step: Int) {
        let next = chosen.map { $0 + step } ?? (step > 0 ? 0 : candidates.count - 1)
        chosen = (next + candidates.count) % candidates.count
    }

    /// The candidates in one row, with the chosen one in view.
    func row(width: Int) -> StyledLine {
        let texts = candidates.map(\.trimmed)
        let shown = chosen ?? 0
        var first = 0
        while first < shown, texts[first...shown].reduce(4, { $0 + TextWidth.of($1) + 2 }) > width { first += 1 }
        var line = StyledLine(first > 0 ? " … " : " ", .dim)
        for index in first..<texts.count {
            line.append(texts[index], index == chosen ? .inverse : .plain)
            line.append("  ")
        }
        return line.fitted(to: width)
    }

    /// Returns the typed name and its candidates, or nil for a command that takes no names.
    private static func argument(
        _ argument: Substring, of command: String, _ chat: ChatModel
    ) -> (typed: String, candidates: [String])? {
        let members = chat.open?.kind == .group ? chat.open?.users ?? [] : []
        switch command {
        case "/open", "/o":
            let open = conversations(argument, chat)
            let others = names(argument, chat.completableUsers, chat).filter { !open.contains($0) }
            return (String(argument), open + others)
        case "/search", "/s": return (String(argument), names(argument, chat.completableUsers, chat))
        case "/block", "/unblock":
            let users = chat.completableUsers.filter { chat.shown.blocked.contains($0.id) == (command == "/unblock") }
            return (String(argument), names(argument, users, chat))
        case "/remove": return (String(argument), names(argument, members, chat))
        case "/role":
            if let name = names("", members, chat).first(where: { argument.hasPrefix($0 + " ") }) {
                let role = argument.dropFirst(name.count + 1)
                return (String(role), ["member", "admin", "owner"].filter { $0.hasPrefix(role.lowercased()) })
            }
            return (String(argument), names(argument, members, chat).map { $0 + " " })
        case "/add", "/group":
            var list = argument
            if command == "/group" {
                guard let with = argument.ranges(of: " with ").last else { return nil }
                list = argument[with.upperBound...]
            }
            let name = list[(list.lastIndex(of: ",").map { list.index(after: $0) } ?? list.startIndex)...]
                .drop { $0 == " " }
            let absent = chat.completableUsers.filter { person in
                command == "/group" || !members.contains { $0.id == person.id }
            }
            return (String(name), names(name, absent, chat))
        default: return nil
        }
    }

    private static func conversations(_ typed: Substring, _ chat: ChatModel) -> [String] {
        chat.shown.conversations.filter { conversation in
            let other = conversation.otherUser
            return isMeant(chat.shown.name(ofConversation: conversation.id), other?.username, by: typed)
        }.map { chat.shown.name(ofConversation: $0.id) }
    }

    /// Returns the names of the matching users. If two names are equal, it returns usernames.
    private static func names(_ typed: Substring, _ users: [User], _ chat: ChatModel) -> [String] {
        users.filter { $0.id != chat.shown.myID && isMeant($0.shownName, $0.username, by: typed) }
            .map { person in
                let isUnique = users.count { $0.shownName == person.shownName } == 1
                return isUnique ? person.shownName : person.username ?? person.shownName
            }
    }

    /// Returns true if the name, a word in it or the username begins with the typed text.
    private static func isMeant(_ name: String, _ username: String?, by typed: some StringProtocol) -> Bool {
        let typed = typed.lowercased()
        let beginning = typed.hasPrefix("@") ? String(typed.dropFirst()) : typed
        let name = name.lowercased()
        return name.hasPrefix(beginning) || username?.lowercased().hasPrefix(beginning) == true
            || name.split(separator: " ").contains { $0.hasPrefix(beginning) }
    }
}

extension ChatModel {
    /// The users whose names can be completed, by name, without the user and deleted accounts.
    fileprivate var completableUsers: [User] {
        shown.users.values.filter { $0.id != shown.myID && !$0.isDeleted }
            .sorted { ($0.shownName, $0.id) < ($1.shownName, $1.id) }
    }
}

extension ScreenModel {
    /// Completes the text before the cursor, or goes to the next candidate. Returns false if nothing can be completed.
    mutating func complete(by step: Int) -> Bool {
        if var current = completion {
            let former = current.text
            current.choose(by: step)
            editor.replace(last: former.count, with: current.text)
            completion = current
            return true
        }
        guard let found = Completion(String(editor.characters[..<editor.cursor]), chat) else { return false }
        if found.candidates.isEmpty {
            say("Nothing begins with “\(found.typed)”.", .dim)
        } else {
            editor.replace(last: found.typed.count, with: found.text)
            if found.candidates.count > 1 { completion = found }
        }
        return true
    }

    /// Ends the completion. `undoing` restores the text that was typed.
    mutating func endCompletion(undoing: Bool) {
        if undoing, let completion { editor.replace(last: completion.text.count, with: completion.typed) }
        completion = nil
    }
}
