internal import NIOCore

/// A notice that a user types in a conversation, or has stopped. It is never stored, and may be lost.
struct TypingNotice: Sendable, Equatable {
    let conversation: ID
    let user: ID
    let isTyping: Bool

    /// The time for which a client shows the notice unless another arrives, in seconds.
    static let seconds = 6

    /// The line of the push (`docs/protocol.md`, section 4).
    var push: Push {
        Push(
            line: ByteBuffer(
                string: #"{"jsonrpc":"2.0","method":"typing","params":{"conversation_id":"\#(conversation)","#
                    + #""user_id":"\#(user)","is_typing":\#(isTyping),"expires_in":\#(Self.seconds)}}"# + "\n"),
            cursor: nil)
    }
}
