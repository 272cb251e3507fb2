/// The result of a chat.
enum Ending: Sendable {
    /// The user left.
    case left(saying: String?)
    /// The chat could not continue.
    ///
    /// - Parameter wasOnline: true if it had been connected; otherwise the stored session has ended.
    case broken(String, wasOnline: Bool)
}
