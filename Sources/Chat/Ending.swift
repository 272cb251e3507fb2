/// How a chat ended.
enum Ending: Sendable {
    /// The person left.
    case left(saying: String?)
    /// It could not go on, for a reason that is a sentence.
    ///
    /// - Parameter wasOnline: whether it had come as far as to be connected; else what was kept is over.
    case broken(String, wasOnline: Bool)
}
