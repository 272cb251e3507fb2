/// Why the chat cannot begin or go on: a sentence for a person.
package struct ChatEnded: Error, CustomStringConvertible {
    /// The sentence.
    package let description: String

    static let revoked = ChatEnded(
        description: "This session was ended from elsewhere: it was signed out, the password was changed, the account "
            + "was disabled, or the server has begun anew. Sign in again.")
}
