/// What the others are told of the user's typing.
extension SyncEngine {
    private struct TypingParams: Encodable {
        var conversation_id: String
        var is_typing: Bool
    }

    func setTyping(_ isTyping: Bool, in conversationID: String) {
        // What nobody can be told now is not told later.
        guard isReady else { return }
        typingThrottle.setTyping(isTyping, in: conversationID, now: .now)
        typingSignal.signal()
    }

    func didSend(in conversationID: String) { typingThrottle.messageSent(in: conversationID) }

    /// Tells what there is to tell, each when its time has come, until the task ends.
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
