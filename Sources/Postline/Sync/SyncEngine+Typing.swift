/// Sending typing notices.
extension SyncEngine {
    private struct TypingParams: Encodable {
        var conversation_id: Conversation.ID
        var is_typing: Bool
    }

    func setTyping(_ isTyping: Bool, in conversationID: Conversation.ID) {
        // A typing notice is never queued.
        guard isReady, !isFollowing else { return }
        typingThrottle.setTyping(isTyping, in: conversationID, now: .now)
        typingSignal.signal()
    }

    func didSend(in conversationID: Conversation.ID) { typingThrottle.messageSent(in: conversationID) }

    /// Sends each typing notice when it is due, until the task ends.
    func runTypingLoop(_ connection: LineConnection) async {
        while !Task.isCancelled {
            let (due, next) = typingThrottle.nextNotices(now: .now)
            for notice in due {
                await connection.notify(
                    "conversations.typing",
                    TypingParams(conversation_id: notice.conversationID, is_typing: notice.isTyping))
            }
            await typingSignal.wait(atMost: next ?? .seconds(3_600))
        }
    }
}
