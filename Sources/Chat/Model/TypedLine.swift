/// A typed line: a command, or a text to send.
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
    /// Nil shows the current username.
    case username(String?)
    /// Nil lists the avatars.
    case avatar(String?)
    case image(path: String)
    case file(path: String, text: String)
    /// A nil number means the last message with attachments.
    case save(seq: Int?, path: String)
    /// Nil clears the bio.
    case bio(String?)
    case upgrade(email: String)
    case signIn(email: String)
    case password
    case logout(everywhere: Bool)
    case deleteAccount
    /// A nil number means the user's last message. Without a text, the old one is offered for editing.
    case edit(seq: Int?, String?)
    case delete(seq: Int?)
    /// Shows the user's own messages with their numbers.
    case mine
    /// Shows the last messages with their numbers.
    case numbers
    /// A nil number means the last message of another user.
    case reply(seq: Int?, String)
    case react(seq: Int?, emoji: String)
    /// Shows the replies to a message. A nil number means the last message that was answered.
    case thread(seq: Int?)
    /// A nil number means the last message.
    case pin(seq: Int?, isPinned: Bool)
    /// Shows the pinned messages.
    case pins
    /// Sends a message at a later time.
    case later(DueTime, String)
    /// Shows the scheduled messages of the open conversation with their numbers.
    case scheduled
    case unschedule(Int)
    /// Reports a message; a nil number means the last message of another user.
    case report(seq: Int?, String, comment: String?)
    case reportUser(String, String, comment: String?)
    /// Nil means the other user of the open direct conversation.
    case block(String?)
    case unblock(String?)
    /// Lists the blocked users.
    case blocked
    case archive(Bool)
    case group(title: String, with: [String])
    case add([String])
    case remove(String)
    case leave
    case rename(String)
    case role(String, of: String)
    /// Nil means permanently.
    case mute(minutes: Int?)
    case unmute
    /// Sets after how many minutes messages expire; nil means never.
    case expire(minutes: Int?)
    case hide(Bool)
    case refused
    /// Nil means all.
    case retry(Int?)
    case discard(Int?)
    case quit
    /// A command without its required argument.
    case incomplete(usage: String)
    case unknown(String)

    /// True if the line writes to the open conversation.
    var writesMessage: Bool {
        switch self {
        case .text, .image, .file, .reply, .later: true
        default: false
        }
    }

    /// Parses a line. Nil if it is empty.
    init?(_ line: String) {
        let line = line.trimmed
        guard !line.isEmpty else { return nil }
        guard line.hasPrefix("/") else {
            self = .text(line)
            return
        }
        // Two slashes send a text that begins with one slash.
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
        case "search", "s": self = argument.isEmpty ? .incomplete(usage: "/search WORDS") : .search(argument)
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
        // Passwords are never typed on the command line, where they would be visible.
        case "password", "passwd":
            self = argument.isEmpty ? .password : .incomplete(usage: "/password, and nothing else")
        case "logout", "signout":
            switch argument {
            case "": self = .logout(everywhere: false)
            case "all": self = .logout(everywhere: true)
            default: self = .incomplete(usage: "/logout, or /logout all")
            }
        case "delete-account":
            self = argument.isEmpty ? .deleteAccount : .incomplete(usage: "/delete-account, and nothing else")
        default:
            self =
                Self.ofMessages(name, argument) ?? Self.ofGroups(name, argument) ?? Self.ofQuiet(name, argument)
                ?? .unknown(name)
        }
    }

    private static func ofMessages(_ name: String, _ argument: String) -> TypedLine? {
        switch name {
        case "edit":
            let (seq, text) = number(before: argument)
            return .edit(seq: seq, text.isEmpty ? nil : text)
        case "delete":
            let (seq, rest) = number(before: argument)
            return rest.isEmpty ? .delete(seq: seq) : .incomplete(usage: "/delete, or /delete #NUMBER")
        case "mine": return .mine
        case "numbers": return .numbers
        case "reply", "r":
            let (seq, text) = number(before: argument)
            return text.isEmpty ? .incomplete(usage: "/reply TEXT, or /reply #NUMBER TEXT") : .reply(seq: seq, text)
        case "react":
            let (seq, emoji) = number(before: argument)
            return emoji.isEmpty
                ? .incomplete(usage: "/react EMOJI, or /react #NUMBER EMOJI") : .react(seq: seq, emoji: emoji)
        case "thread":
            let (seq, rest) = number(before: argument)
            return rest.isEmpty ? .thread(seq: seq) : .incomplete(usage: "/thread, or /thread #NUMBER")
        case "pin", "unpin":
            let (seq, rest) = number(before: argument)
            return rest.isEmpty
                ? .pin(seq: seq, isPinned: name == "pin") : .incomplete(usage: "/\(name), or /\(name) #NUMBER")
        case "pins": return .pins
        case "report": return report(argument)
        case "block": return .block(argument.isEmpty ? nil : argument)
        case "unblock": return .unblock(argument.isEmpty ? nil : argument)
        case "blocked": return .blocked
        case "image", "picture":
            return argument.isEmpty ? .incomplete(usage: "/image FILE") : .image(path: argument)
        case "file":
            let (path, text) = FileAction.splitPath(argument)
            return path.isEmpty ? .incomplete(usage: "/file PATH, or /file PATH TEXT") : .file(path: path, text: text)
        case "save":
            let (seq, rest) = number(before: argument)
            let (path, more) = FileAction.splitPath(rest)
            return path.isEmpty || !more.isEmpty
                ? .incomplete(usage: "/save PATH, or /save #NUMBER PATH; a PATH with blanks is in quotes")
                : .save(seq: seq, path: path)
        case "later":
            let parts = argument.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let time = DueTime(parts[0]) else {
                return .incomplete(usage: "/later TIME TEXT, with a TIME such as 18:30, 20m, 3h or 2d")
            }
            return .later(time, String(parts[1]).trimmed)
        case "scheduled": return .scheduled
        case "unschedule":
            guard let number = Int(argument) else {
                return .incomplete(usage: "/unschedule NUMBER; /scheduled shows the numbers")
            }
            return .unschedule(number)
        case "refused": return .refused
        case "retry", "discard":
            let number = Int(argument)
            guard number != nil || argument.isEmpty && name == "retry" || argument == "all" else {
                return .incomplete(usage: "/\(name) NUMBER, or /\(name) all")
            }
            return name == "retry" ? .retry(number) : .discard(number)
        default: return nil
        }
    }

    /// Parses `[#NUMBER or @NAME] REASON [COMMENT]`.
    private static func report(_ argument: String) -> TypedLine {
        let usage = TypedLine.incomplete(usage: "/report REASON [COMMENT], with #NUMBER or @NAME before it")
        var parts = argument.split(separator: " ", maxSplits: 1)
        var name: String?
        if let first = parts.first, first.hasPrefix("@") {
            name = String(first.dropFirst())
            parts = parts.count > 1 ? parts[1].split(separator: " ", maxSplits: 1) : []
        }
        let (seq, rest) = name == nil ? number(before: argument) : (nil, "")
        if name == nil { parts = rest.split(separator: " ", maxSplits: 1) }
        guard let reason = parts.first?.lowercased() else { return usage }
        let comment = parts.count > 1 ? String(parts[1]).trimmed : nil
        return name.map { .reportUser($0, reason, comment: comment) } ?? .report(seq: seq, reason, comment: comment)
    }

    private static func ofGroups(_ name: String, _ argument: String) -> TypedLine? {
        switch name {
        case "group":
            guard let with = argument.range(ofLast: " with ") else {
                return .incomplete(usage: "/group TITLE with NAME, NAME")
            }
            let title = String(argument[..<with.lowerBound]).trimmed
            let names = names(String(argument[with.upperBound...]))
            return title.isEmpty || names.isEmpty
                ? .incomplete(usage: "/group TITLE with NAME, NAME") : .group(title: title, with: names)
        case "add":
            let names = names(argument)
            return names.isEmpty ? .incomplete(usage: "/add NAME, NAME") : .add(names)
        case "remove": return argument.isEmpty ? .incomplete(usage: "/remove NAME") : .remove(argument)
        case "leave": return argument.isEmpty ? .leave : .incomplete(usage: "/leave, and nothing else")
        case "rename": return argument.isEmpty ? .incomplete(usage: "/rename NEW TITLE") : .rename(argument)
        case "role":
            guard let blank = argument.lastIndex(of: " ") else {
                return .incomplete(usage: "/role NAME member, admin or owner")
            }
            return .role(String(argument[argument.index(after: blank)...]), of: String(argument[..<blank]).trimmed)
        default: return nil
        }
    }

    private static func ofQuiet(_ name: String, _ argument: String) -> TypedLine? {
        switch name {
        case "mute":
            if argument.isEmpty { return .mute(minutes: nil) }
            guard let minutes = DueTime.minutes(argument) else {
                return .incomplete(usage: "/mute, or /mute 30m, 8h or 2d")
            }
            return .mute(minutes: minutes)
        case "expire":
            if argument == "never" { return .expire(minutes: nil) }
            guard let minutes = DueTime.minutes(argument) else {
                return .incomplete(usage: "/expire 30m, 8h or 7d, or /expire never")
            }
            return .expire(minutes: minutes)
        case "archive", "unarchive":
            return argument.isEmpty ? .archive(name == "archive") : .incomplete(usage: "/\(name), and nothing else")
        case "unmute": return argument.isEmpty ? .unmute : .incomplete(usage: "/unmute, and nothing else")
        case "hide": return argument.isEmpty ? .hide(true) : .incomplete(usage: "/hide, and nothing else")
        case "show": return argument.isEmpty ? .hide(false) : .incomplete(usage: "/show, and nothing else")
        default: return nil
        }
    }

    /// Splits `#12 text` into the number and the text.
    private static func number(before text: String) -> (Int?, String) {
        let parts = text.split(separator: " ", maxSplits: 1)
        guard let first = parts.first, first.hasPrefix("#"), let number = Int(first.dropFirst()) else {
            return (nil, text)
        }
        return (number, parts.count > 1 ? String(parts[1]).trimmed : "")
    }

    private static func names(_ text: String) -> [String] {
        text.split(separator: ",").map { String($0).trimmed }.filter { !$0.isEmpty }
    }
}

extension String {
    /// True if the text may be an email address without a password after it. The server checks the rest.
    fileprivate var isAddress: Bool { contains("@") && !contains(where: \.isWhitespace) }

    /// Returns the last range of a text.
    fileprivate func range(ofLast text: String) -> Range<Index>? { ranges(of: text).last }

    /// The text without line breaks at its end, as after pasting.
    var trimmingLineEnds: String {
        guard let last = lastIndex(where: { !$0.isNewline }) else { return "" }
        return String(self[...last])
    }

    /// The text without blanks at either end.
    var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else { return "" }
        return String(self[first...last])
    }
}
