import Foundation
import Postline

/// Mentions of members in a text: `@carol` by username, and `@everyone`.
struct Mentions {
    let conversation: Conversation?

    /// Returns the details of a text: the mentioned members, and everyone if the user may mention all.
    func details(of text: String, replyTo: Message?) -> MessageDetails {
        let names = Set(text.split(whereSeparator: \.isWhitespace).compactMap(Self.name))
        return MessageDetails(
            replyTo: replyTo, mentions: others.filter { names.contains($0.username ?? "") }.map(\.id),
            mentionsEveryone: mayMentionEveryone && names.contains("everyone"))
    }

    /// Returns the members whom the word at the end of a text may mean, at most five.
    func suggestions(for text: String) -> [User] {
        guard let word = text.split(omittingEmptySubsequences: false, whereSeparator: \.isWhitespace).last,
            word.hasPrefix("@")
        else { return [] }
        let typed = word.dropFirst().lowercased()
        let found = others.filter { user in
            guard let username = user.username, username != typed else { return false }
            return username.hasPrefix(typed) || user.displayName?.lowercased().hasPrefix(typed) == true
        }
        return Array(found.prefix(5))
    }

    /// Returns a text whose last word is replaced by the mention of a user.
    static func complete(_ text: String, by user: User) -> String {
        let start = text.lastIndex(of: "@") ?? text.endIndex
        return text[..<start] + "@\(user.username ?? "") "
    }

    private var others: [User] { conversation?.users.filter { $0.id != conversation?.myID } ?? [] }

    private var mayMentionEveryone: Bool {
        conversation?.kind == .group && [.owner, .admin].contains(conversation?.myMembership?.role)
    }

    /// Returns the name of a word that begins with `@`, without marks at its end.
    private static func name(_ word: Substring) -> String? {
        guard word.hasPrefix("@") else { return nil }
        var name = word.dropFirst().lowercased()
        while let last = name.last, last.isPunctuation, last != "_" { name.removeLast() }
        return name.isEmpty ? nil : name
    }
}
