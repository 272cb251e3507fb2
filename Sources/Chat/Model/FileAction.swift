import Postline

/// An action with a file of this machine.
enum FileAction: Sendable, Equatable {
    /// Makes a picture the user's avatar.
    case wear(path: String)
    case send(path: String, text: String, conversationID: Conversation.ID, details: MessageDetails = MessageDetails())
    /// Saves the attachments of a message: in a folder, or a single one under a new name.
    case save([Message.Attachment], path: String)

    /// Returns the file that an argument names: a path, or a name with a picture's extension. Otherwise nil.
    static func path(_ argument: String) -> String? {
        guard !argument.contains("://") else { return nil }
        let endings = [".jpg", ".jpeg", ".png", ".gif", ".webp", ".heic"]
        let isFile = argument.contains("/") || endings.contains { argument.lowercased().hasSuffix($0) }
        return isFile ? argument : nil
    }

    /// Splits `PATH TEXT`. A path with blanks is in quotes, or has a backslash before each, as terminals write one that
    /// is dropped on them.
    static func splitPath(_ argument: String) -> (path: String, text: String) {
        if let quote = argument.first, "\"'".contains(quote),
            let end = argument.dropFirst().firstIndex(of: quote)
        {
            let path = argument[argument.index(after: argument.startIndex)..<end]
            return (String(path), String(argument[argument.index(after: end)...]).trimmed)
        }
        var path = ""
        var rest = Substring(argument)
        while let next = rest.popFirst(), next != " " {
            if next == "\\", let escaped = rest.popFirst() { path.append(escaped) } else { path.append(next) }
        }
        return (path, String(rest).trimmed)
    }
}
