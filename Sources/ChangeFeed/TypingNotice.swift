package import Foundations
import NIOCore

/// A notice that a user types in a conversation, or has stopped. It is never stored, and may be lost.
package struct TypingNotice: Sendable, Equatable {
    package let conversation: ID
    package let user: ID
    package let isTyping: Bool

    package init(conversation: ID, user: ID, isTyping: Bool) {
        self.conversation = conversation
        self.user = user
        self.isTyping = isTyping
    }

    /// The time for which a client shows the notice unless another arrives, in seconds.
    package static let seconds = 6

    /// The line of the push (`docs/protocol.md`, section 4).
    package var push: Push {
        Push(
            line: ByteBuffer(
                string: #"{"jsonrpc":"2.0","method":"typing","params":{"conversation_id":"\#(conversation)","#
                    + #""user_id":"\#(user)","is_typing":\#(isTyping),"expires_in":\#(Self.seconds)}}"# + "\n"),
            cursor: nil)
    }
}
