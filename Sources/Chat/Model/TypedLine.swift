/// A line that a person typed: a command, or text to send.
enum TypedLine: Sendable, Equatable {
    case text(String)
    case help
    case list
    case members
    case older
    case open(String)
    case search(String)
    case me
    case name(String)
    /// Nil asks for the one there is.
    case username(String?)
    /// Nil asks for those there are.
    case avatar(String?)
    /// Nil clears it.
    case bio(String?)
    case upgrade(email: String)
    case signIn(email: String)
    case password
    case logout(everywhere: Bool)
    case delete
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
        case "me", "profile": self = .me
        case "username": self = .username(argument.isEmpty ? nil : argument)
        case "avatar": self = .avatar(argument.isEmpty ? nil : argument)
        case "bio":
            self =
                argument.isEmpty
                ? .incomplete(usage: "/bio TEXT, or /bio none") : .bio(argument == "none" ? nil : argument)
        case "upgrade":
            self = !argument.isAddress ? .incomplete(usage: "/upgrade EMAIL") : .upgrade(email: argument)
        case "login", "signin":
            self = !argument.isAddress ? .incomplete(usage: "/login EMAIL") : .signIn(email: argument)
        // Never on the line itself, where it would be seen.
        case "password", "passwd":
            self = argument.isEmpty ? .password : .incomplete(usage: "/password, and nothing else")
        case "logout", "signout":
            switch argument {
            case "": self = .logout(everywhere: false)
            case "all": self = .logout(everywhere: true)
            default: self = .incomplete(usage: "/logout, or /logout all")
            }
        case "delete": self = argument.isEmpty ? .delete : .incomplete(usage: "/delete, and nothing else")
        default: self = .unknown(name)
        }
    }

    /// What `/help` shows: a command and what it does.
    static let usages: [(usage: String, meaning: String)] = [
        ("/open NAME", "open a conversation by number, by name, or with a person"),
        ("/list", "show the conversations"),
        ("/search NAME", "look for people"),
        ("/members", "show who is in the open conversation"),
        ("/older", "show older messages"),
        ("/me", "show all that is known of you"),
        ("/name NEW", "change your name, everywhere at once"),
        ("/username NEW", "change your username; alone: when you can"),
        ("/avatar NEW", "one of those that /avatar lists, an https address, or none"),
        ("/bio TEXT", "say something of yourself, or none"),
        ("/upgrade EMAIL", "as a guest: keep this account; asks for a password"),
        ("/login EMAIL", "as a guest: bring everything into an account that you have"),
        ("/password", "change your password"),
        ("/logout [all]", "sign out here, or everywhere"),
        ("/delete", "delete your account for good; asks first"),
        ("/quit", "leave"),
        ("//text", "send a text that begins with a slash"),
    ]
}

extension String {
    /// Whether it may be an email address, and has no password behind it; all else the server says.
    fileprivate var isAddress: Bool { contains("@") && !contains(where: \.isWhitespace) }

    /// Without the line ends behind a text that was pasted.
    var trimmingLineEnds: String {
        guard let last = lastIndex(where: { !$0.isNewline }) else { return "" }
        return String(self[...last])
    }

    /// Without blanks at either end.
    var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
