import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A conversation in the list: avatar, name, last message, time and unread count.
struct ConversationRow: View {
    let client: PostlineClient
    let conversation: Conversation

    var body: some View {
        HStack(spacing: 12) {
            AvatarView(client: client, user: conversation.otherUser, isGroup: conversation.kind == .group)
            VStack(alignment: .leading) {
                HStack(alignment: .firstTextBaseline) {
                    Text(conversation.shownName).font(.headline).lineLimit(1)
                    if conversation.isMuted {
                        Image(systemName: "bell.slash").font(.caption).accessibilityLabel("Muted")
                    }
                    if conversation.isPinned {
                        Image(systemName: "pin").font(.caption).accessibilityLabel("Pinned")
                    }
                    Spacer()
                    if conversation.unreadMentions > 0 {
                        Image(systemName: "at").foregroundStyle(.red).accessibilityLabel("Mentions you")
                    }
                    if let time { Text(time).font(.caption).foregroundStyle(.secondary) }
                }
                Text(summary).font(.subheadline).foregroundStyle(.secondary).lineLimit(2)
            }
        }
        .badge(conversation.isMarkedUnread ? max(1, conversation.unreadCount) : conversation.unreadCount)
        .accessibilityElement(children: .combine)
    }

    private var summary: String {
        if client.typingUserIDs[conversation.id]?.isEmpty == false { return "typing…" }
        if let draft = conversation.draft { return "Draft: \(draft)" }
        guard conversation.lastMessageTime != nil else { return "No messages yet" }
        if conversation.isLastMessageBlocked { return "Message from a blocked user" }
        let sender = conversation.lastMessageSenderID == conversation.myID ? "You: " : ""
        switch conversation.lastMessageContent {
        case nil: return "Message deleted"
        case "": return sender + "Picture"
        case let content?: return sender + content
        }
    }

    /// The time of a message of today, else the date.
    private var time: String? {
        conversation.lastMessageTime.map { time in
            Calendar.current.isDateInToday(time)
                ? time.formatted(date: .omitted, time: .shortened) : time.formatted(date: .numeric, time: .omitted)
        }
    }
}

struct ConversationRowPreviews: PreviewProvider {
    static var previews: some View {
        List(PostlineClient.sample.conversations) { ConversationRow(client: .sample, conversation: $0) }
    }
}
