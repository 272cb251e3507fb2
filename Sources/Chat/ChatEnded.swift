/// An error that prevents the chat from starting or continuing.
package struct ChatEnded: Error, CustomStringConvertible {
    /// The reason as a sentence.
    package let description: String

    static let revoked = ChatEnded(
        description: "This session was ended from elsewhere: it was signed out, the password was changed, the account "
            + "was disabled, or the server has begun anew. Sign in again.")
}
