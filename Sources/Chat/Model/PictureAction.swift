/// What is done with a picture of this machine.
enum PictureAction: Sendable, Equatable {
    case wear(path: String)
    case send(path: String, conversationID: String)

    /// The file that an argument names, where it names one: a path, or what ends as pictures do.
    static func path(_ argument: String) -> String? {
        guard !argument.contains("://") else { return nil }
        let endings = [".jpg", ".jpeg", ".png", ".gif", ".webp", ".heic"]
        let isFile = argument.contains("/") || endings.contains { argument.lowercased().hasSuffix($0) }
        return isFile ? argument : nil
    }
}
