import Postline

/// An action on the user's scheduled messages. All need the server.
enum ScheduleAction: Sendable, Equatable {
    case add(Conversation.ID, content: String, at: DueTime, details: MessageDetails)
    case list(Conversation.ID)
    /// Removes the message of that number in the list, from 1.
    case remove(Conversation.ID, number: Int)
}
