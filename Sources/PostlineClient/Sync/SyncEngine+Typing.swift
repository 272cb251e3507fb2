/// What the others are told of the user's typing.
extension SyncEngine {
    private struct TypingParams: Encodable {
        var conversation_id: String
        var is_typing: Bool
    }

    func tellTyping(_ isTyping: Bool, in conversationID: String) {
        // What nobody can be told now is not told later.
        guard isReady else { return }
        typing.note(isTyping, in: conversationID, now: .now)
        typingBell.ring()
    }

    func hasSent(in conversationID: String) { typing.noteSent(in: conversationID) }

    /// Tells what there is to tell, each when its time has come, until the task ends.
    func keepTellingTyping(_ connection: LineConnection) async {
        while !Task.isCancelled {
            let (due, next) = typing.take(now: .now)
            for notice in due {
                await connection.tell(
                    "conversations.typing",
                    TypingParams(conversation_id: notice.conversationID, is_typing: notice.isTyping))
            }
            await typingBell.wait(atMost: next ?? .seconds(3_600))
        }
    }
}
