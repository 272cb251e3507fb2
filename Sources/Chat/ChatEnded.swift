/// Why the chat cannot begin or go on: a sentence for a person.
package struct ChatEnded: Error, CustomStringConvertible {
    /// The sentence.
    package let description: String

    static let revoked = ChatEnded(
        description: "This session was ended from elsewhere: signed out, or the password was changed. Sign in again.")
}
