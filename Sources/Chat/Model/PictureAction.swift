import Postline

/// An action with a local picture.
enum PictureAction: Sendable, Equatable {
    case wear(path: String)
    case send(path: String, conversationID: Conversation.ID)

    /// Returns the file that an argument names: a path, or a name with a picture's extension. Otherwise nil.
    static func path(_ argument: String) -> String? {
        guard !argument.contains("://") else { return nil }
        let endings = [".jpg", ".jpeg", ".png", ".gif", ".webp", ".heic"]
        let isFile = argument.contains("/") || endings.contains { argument.lowercased().hasSuffix($0) }
        return isFile ? argument : nil
    }
}
