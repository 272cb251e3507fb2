/// How a chat ended.
enum Ending: Sendable {
    /// The person left.
    case left(saying: String?)
    /// It could not go on, for a reason that is a sentence.
    case broken(String)
}
