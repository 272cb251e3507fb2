/// A line that a person typed: a command, or text to send.
enum ChatCommand: Sendable, Equatable {
    case text(String)
    case help
    case list
    case members
    case older
    case open(String)
    case search(String)
    case name(String)
    case quit
    /// A command that needs an argument and has none.
    case incomplete(usage: String)
    case unknown(String)

    /// Nil where there is nothing on the line.
    init?(_ line: String) {
        let line = line.trimmed
        guard !line.isEmpty else { return nil }
        guard line.hasPrefix("/") else {
            self = .text(line)
            return
        }
        // Two slashes send a text that begins with one.
        guard !line.hasPrefix("//") else {
            self = .text(String(line.dropFirst()))
            return
        }
        let parts = line.dropFirst().split(separator: " ", maxSplits: 1)
        let name = parts.first.map { $0.lowercased() } ?? ""
        let argument = parts.count > 1 ? String(parts[1]).trimmed : ""
        switch name {
        case "help", "h", "?": self = .help
        case "list", "l": self = .list
        case "members", "who": self = .members
        case "older": self = .older
        case "quit", "q", "exit": self = .quit
        case "open", "o": self = argument.isEmpty ? .incomplete(usage: "/open NAME or NUMBER") : .open(argument)
        case "search", "s": self = argument.isEmpty ? .incomplete(usage: "/search NAME") : .search(argument)
        case "name": self = argument.isEmpty ? .incomplete(usage: "/name YOUR NEW NAME") : .name(argument)
        default: self = .unknown(name)
        }
    }

    /// What `/help` shows: a command and what it does.
    static let usages: [(usage: String, meaning: String)] = [
        ("/open NAME", "open a conversation by its number, its name, or a person's name"),
        ("/list", "show the conversations"),
        ("/search NAME", "look for people"),
        ("/members", "show who is in the open conversation"),
        ("/older", "show older messages"),
        ("/name NEW", "change your own name, everywhere at once"),
        ("/quit", "leave"),
        ("//text", "send a text that begins with a slash"),
    ]
}

extension String {
    /// Without blanks at either end.
    var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
