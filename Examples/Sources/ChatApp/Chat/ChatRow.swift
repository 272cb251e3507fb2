import Foundation
import Postline

/// A message in a chat, and what stands above it.
struct ChatRow: Identifiable {
    let message: Message
    /// The day, if the message is the first one of it.
    let day: Date?
    /// True if the message is the first unread one.
    let isFirstUnread: Bool
    /// True if the previous message is by another sender or of another day.
    let isFirstOfSender: Bool

    var id: Message.ID { message.id }

    static func rows(of messages: [Message], firstUnread: Message.ID?, calendar: Calendar = .current) -> [ChatRow] {
        var previous: Message?
        return messages.map { message in
            defer { previous = message }
            let isNewDay = previous.map { !calendar.isDate($0.createdAt, inSameDayAs: message.createdAt) } ?? true
            return ChatRow(
                message: message, day: isNewDay ? message.createdAt : nil, isFirstUnread: message.id == firstUnread,
                isFirstOfSender: isNewDay || previous?.senderID != message.senderID || previous?.event != nil)
        }
    }
}
