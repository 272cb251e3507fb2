import Postline

/// Mentions in texts: `@bob` by username or first name, and `@everyone`.
enum Mentions {
    /// Returns the places of words that begin with `@`, with their names, without marks after them.
    static func words(in text: String) -> [(range: Range<String.Index>, name: String)] {
        var found: [(Range<String.Index>, String)] = []
        var index = text.startIndex
        while let at = text[index...].firstIndex(of: "@") {
            let start = text.index(after: at)
            var end = text[start...].firstIndex { !isPart($0) } ?? text.endIndex
            // A dot at the end belongs to the sentence.
            while end > start, text[text.index(before: end)] == "." { end = text.index(before: end) }
            let isWord = at == text.startIndex || !isPart(text[text.index(before: at)])
            if isWord, end > start { found.append((at..<end, text[start..<end].lowercased())) }
            index = max(start, end)
        }
        return found
    }

    private static func isPart(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "_.-".contains(character)
    }

    /// Returns true if the name means all members.
    static func isEveryone(_ name: String) -> Bool { name == "everyone" || name == "all" }

    /// Returns the user with this username, or the only one with this first name.
    static func user(_ name: String, among users: [User]) -> User? {
        if let user = users.first(where: { $0.username?.lowercased() == name }) { return user }
        let named = users.filter { $0.shownName.split(separator: " ").first?.lowercased() == name }
        return named.count == 1 ? named[0] : nil
    }

    /// Returns the details of a text for a conversation.
    static func details(of text: String, in conversation: Conversation, replyTo: Message? = nil) -> MessageDetails {
        var details = MessageDetails(replyTo: replyTo)
        for (_, name) in words(in: text) {
            if let user = user(name, among: conversation.users) {
                if user.id != conversation.myID, !details.mentions.contains(user.id), details.mentions.count < 50 {
                    details.mentions.append(user.id)
                }
            } else if isEveryone(name), conversation.kind == .group,
                [.owner, .admin].contains(conversation.myMembership?.role)
            {
                details.mentionsEveryone = true
            }
        }
        return details
    }
}

extension StyledLine {
    /// Appends a part of a message's text, with its mentions in colour: those of this user in yellow.
    mutating func append(_ text: String, _ style: Style, mentionsOf message: Message, in conversation: Conversation?) {
        let users = conversation?.users ?? []
        var index = text.startIndex
        for (range, name) in Mentions.words(in: text) {
            let user = Mentions.user(name, among: users)
            let isEveryone = user == nil && message.mentionsEveryone && Mentions.isEveryone(name)
            guard isEveryone || user.map({ message.mentions.contains($0.id) }) == true else { continue }
            let isMe = user?.id == conversation?.myID || isEveryone && !message.isMine
            append(String(text[index..<range.lowerBound]), style)
            append(String(text[range]), .color(isMe ? .yellow : .cyan, bold: true))
            index = range.upperBound
        }
        append(String(text[index...]), style)
    }
}
