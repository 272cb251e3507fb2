internal import NIOCore

/// That a user is typing in a conversation, or has stopped. It is never stored, and may be lost.
struct TypingNotice: Sendable, Equatable {
    let conversation: ID
    let user: ID
    let isTyping: Bool

    /// For how long a client shows it, in seconds, unless another comes.
    static let seconds = 6

    /// The line of its push (`docs/protocol.md`, section 4).
    var push: Push {
        Push(
            line: ByteBuffer(
                string: #"{"jsonrpc":"2.0","method":"typing","params":{"conversation_id":"\#(conversation)","#
                    + #""user_id":"\#(user)","is_typing":\#(isTyping),"expires_in":\#(Self.seconds)}}"# + "\n"),
            cursor: nil)
    }
}
