import Postline

/// The input line: a draft of the open conversation, or a message being edited.
extension ScreenModel {
    /// The part of the input line that is saved as a draft: no command, answer or edit.
    var draft: String {
        let text = editor.text
        guard chat.question == nil, edited == nil, !text.hasPrefix("/") || text.hasPrefix("//") else { return "" }
        return text
    }

    /// True if the draft differs from the saved one. While a conversation loads, its draft is not in the input line yet.
    var isDraftDue: Bool { !chat.isOpening && chat.open.map { ($0.draft ?? "") != draft } ?? false }

    /// Saves the draft.
    mutating func keepDraft() -> [ChatEffect] {
        guard isDraftDue, let id = chat.openID else { return [] }
        return [.draft(conversationID: id, content: draft)]
    }

    /// Opens a conversation.
    mutating func open(_ id: Conversation.ID) -> [ChatEffect] {
        guard id != chat.openID else {
            isInList = false
            return take([])
        }
        return change { $0.open(id) }
    }

    /// Executes a line, which may open another conversation.
    mutating func perform(_ command: TypedLine) -> [ChatEffect] {
        change { $0.perform(command) }
    }

    /// Changes the chat. If that opens another conversation, text that was typed in the former one stays there as its
    /// draft, and what is typed from then on is for the new one, also before its messages are loaded.
    mutating func change(_ body: (inout ChatModel) -> [ChatOutput]) -> [ChatEffect] {
        let kept = keepDraft()
        let former = chat.openID
        let outputs = body(&chat)
        guard let former, let opened = chat.openID, opened != former else { return take(outputs) }
        edit(nil)
        return kept + take(outputs)
    }

    /// Handles keys while a message is edited. Returns nil for keys with their usual meaning.
    mutating func handleEditing(_ key: Key) -> [ChatEffect]? {
        guard let edited else { return nil }
        let text = editor.text.trimmed
        switch key {
        case .enter:
            edit(nil)
            return text.isEmpty ? [chat.delete(edited)] : take(chat.edit(edited, to: text))
        case .escape:
            edit(nil)
            return []
        case .up, .down:
            // Moving to another message must not discard changes.
            guard editor.text == edited.content, let place = chat.ownMessages.firstIndex(where: { $0.id == edited.id })
            else { return [] }
            let next = key == .up ? max(0, place - 1) : place + 1
            edit(chat.ownMessages.indices.contains(next) ? chat.ownMessages[next] : nil)
            return []
        default: return nil
        }
    }
}
