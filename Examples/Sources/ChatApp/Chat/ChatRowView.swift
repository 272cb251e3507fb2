import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A message with the day and the unread divider above it.
struct ChatRowView: View {
    let client: PostlineClient
    let row: ChatRow
    let conversation: Conversation?
    let reply: @MainActor () -> Void

    var body: some View {
        VStack(spacing: 8) {
            if let day = row.day {
                Text(day.formatted(date: .complete, time: .omitted))
                    .font(.caption)
                    .foregroundStyle(.secondary)
                    .accessibilityAddTraits(.isHeader)
            }
            if row.isFirstUnread {
                Text("New messages")
                    .font(.caption)
                    .foregroundStyle(.white)
                    .padding(.horizontal)
                    .background(.red, in: Capsule())
                    .accessibilityAddTraits(.isHeader)
            }
            if row.message.event != nil {
                GroupEventView(message: row.message)
            } else {
                MessageBubble(
                    client: client, message: row.message, conversation: conversation, reply: reply,
                    showsSender: conversation?.kind == .group && row.isFirstOfSender)
            }
        }
        .frame(maxWidth: .infinity)
    }
}

/// A change of the group.
private struct GroupEventView: View {
    let message: Message

    var body: some View {
        Text(sentence).font(.caption).foregroundStyle(.secondary).multilineTextAlignment(.center)
    }

    private var sentence: String {
        let sender = message.sender.shownName
        let users = message.event?.profiles.map { $0.shownName }.formatted(.list(type: .and)) ?? ""
        switch message.event?.kind {
        case .membersAdded?: return "\(sender) added \(users)"
        case .memberRemoved?: return "\(sender) removed \(users)"
        case .memberLeft?: return "\(sender) left"
        case .renamed?: return "\(sender) renamed the group to “\(message.event?.title ?? "")”"
        // A kind of a newer server.
        default: return message.content ?? ""
        }
    }
}

struct ChatRowViewPreviews: PreviewProvider {
    static var previews: some View {
        let messages: [Message] = [
            .sample(1, by: .carol, "Where shall we go?"), .sample(2, by: .robin, "To the lake."),
        ]
        VStack {
            ForEach(ChatRow.rows(of: messages, firstUnread: messages[0].id)) { row in
                ChatRowView(client: .sample, row: row, conversation: .hike) {}
            }
        }
    }
}
