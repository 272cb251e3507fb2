internal import PostlineClient

/// What stands in the line: a draft of the open conversation, or a message of the user's own that is changed.
extension ScreenModel {
    /// What of the line is to be there again when the conversation is: no command, no answer, no edit.
    var draft: String {
        let text = editor.text
        guard chat.question == nil, edited == nil, !text.hasPrefix("/") || text.hasPrefix("//") else { return "" }
        return text
    }

    /// Whether the line is other than what is kept of it.
    var isDraftDue: Bool { chat.open.map { ($0.draft ?? "") != draft } ?? false }

    /// Keeps what stands in the line.
    mutating func keepDraft() -> [ChatEffect] {
        guard isDraftDue, let id = chat.openID else { return [] }
        return [.draft(conversationID: id, content: draft)]
    }

    /// Opens a conversation. Text that was typed in the former one stays there as its draft.
    mutating func open(_ id: String) -> [ChatEffect] {
        guard id != chat.openID else {
            isInList = false
            return take([])
        }
        let kept = keepDraft()
        return kept + take(chat.open(id))
    }

    /// Does what a line says, which may open another conversation.
    mutating func perform(_ command: TypedLine) -> [ChatEffect] {
        let kept = keepDraft()
        let former = chat.openID
        let effects = take(chat.perform(command))
        return (chat.openID == former ? [] : kept) + effects
    }

    /// The keys of who changes a message; nil for those that are as always.
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
            // What was changed already is not thrown away by a step.
            guard editor.text == edited.content, let place = chat.ownMessages.firstIndex(where: { $0.id == edited.id })
            else { return [] }
            let next = key == .up ? max(0, place - 1) : place + 1
            edit(chat.ownMessages.indices.contains(next) ? chat.ownMessages[next] : nil)
            return []
        default: return nil
        }
    }
}
