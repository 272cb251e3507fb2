import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct MessageBubble: View {
    let client: PostlineClient
    let message: Message
    var conversation: Conversation?
    var reply: (@MainActor () -> Void)?
    var showsSender = false
    @State private var isEditing = false
    /// True if the message of a blocked user is shown on demand.
    @State private var isRevealed = false
    @State private var problem: String?

    var body: some View {
        HStack(alignment: .bottom) {
            if message.isMine {
                Spacer(minLength: 48)
            } else if let sender = message.sender {
                AvatarView(client: client, user: sender, size: 28).accessibilityHidden(true)
            }
            VStack(alignment: message.isMine ? .trailing : .leading, spacing: 2) {
                if showsSender { Text(sender).font(.caption).foregroundStyle(.secondary).accessibilityHidden(true) }
                content
                    .contextMenu {
                        if message.seq != nil, message.deletedAt == nil, !isHidden { menu }
                    }
                if !message.reactions.isEmpty {
                    ReactionsView(client: client, message: message, problem: $problem)
                }
                DeliveryView(client: client, message: message, problem: $problem)
            }
            if !message.isMine { Spacer(minLength: 48) }
        }
        .sheet(isPresented: $isEditing) { EditMessageView(client: client, message: message) }
        .problemAlert($problem)
    }

    @ViewBuilder private var content: some View {
        VStack(alignment: .leading) {
            if isHidden {
                Text("Message from a blocked user").foregroundStyle(.secondary)
                Button("Show") { isRevealed = true }.buttonStyle(.borderless)
            } else {
                shownContent
            }
        }
        .padding(10)
        .background(
            message.isMine ? Color.accentColor : Color.secondary.opacity(message.mentionsMe ? 0.4 : 0.2),
            in: RoundedRectangle(cornerRadius: 16))
    }

    @ViewBuilder private var shownContent: some View {
        if let quote = message.replyTo { QuoteView(quote) }
        ForEach(message.attachments, id: \.self) { AttachmentView(client: client, attachment: $0) }
        if message.caption != "" || message.isStreaming {
            Text((message.caption ?? "Message deleted") + (message.isStreaming ? "…" : ""))
                .foregroundStyle(message.isMine ? Color.white : Color.primary)
                .accessibilityLabel("\(message.isMine ? "You" : sender): \(message.caption ?? "message deleted")")
        }
    }

    @ViewBuilder private var menu: some View {
        ReactionMenu(client: client, message: message, problem: $problem)
        if let reply { Button("Reply", systemImage: "arrowshape.turn.up.left", action: reply) }
        PinButton(client: client, message: message, conversation: conversation, problem: $problem)
        if message.isMine {
            Button("Edit", systemImage: "pencil") { isEditing = true }
            AsyncButton("Delete", systemImage: "trash", role: .destructive, problem: $problem) {
                try await client.delete(message)
            }
        }
    }

    private var sender: String { message.sender.shownName }

    private var isHidden: Bool { message.isBlocked && message.deletedAt == nil && !isRevealed }
}

struct MessageBubblePreviews: PreviewProvider {
    static var previews: some View {
        VStack {
            MessageBubble(client: .sample, message: .sample(1, by: .carol, "Where shall we go?"), showsSender: true)
            MessageBubble(client: .sample, message: .sampleReply)
            MessageBubble(client: .sample, message: .sample(nil, by: .robin, "By train?", delivery: .queued(change: 1)))
            MessageBubble(
                client: .sample,
                message: .sample(
                    nil, by: .robin, "Or by bike?",
                    delivery: .refused(PostlineError(.forbidden, "You have left the group."), change: 2)))
        }
        .padding()
    }
}
