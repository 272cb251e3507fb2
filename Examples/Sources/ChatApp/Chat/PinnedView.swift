import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The last pinned message above the chat. A tap shows it.
struct PinnedView: View {
    let chat: Chat
    let show: @MainActor (Int) async throws -> Void
    @Binding var problem: String?

    /// The message, if it is not among those that the chat shows.
    @State private var older: Message?

    var body: some View {
        if let seq = chat.conversation?.pinnedSeqs.first {
            HStack {
                AsyncButton(text(of: seq), systemImage: "pin", problem: $problem) { try await show(seq) }
                    .font(.caption)
                    .lineLimit(1)
                Spacer()
            }
            .padding(8)
            .background(.bar)
            .task(id: seq) { older = try? await chat.message(numbered: seq) }
        }
    }

    private func text(of seq: Int) -> String {
        let message = chat.messages.first { $0.seq == seq } ?? older
        guard message?.seq == seq, message?.isBlocked == false, let content = message?.content, !content.isEmpty else {
            return "Pinned message"
        }
        return content
    }
}

/// Pins a message for all members, or ends that.
struct PinButton: View {
    let client: PostlineClient
    let message: Message
    let conversation: Conversation?
    @Binding var problem: String?

    var body: some View {
        if let conversation, let seq = message.seq, mayPin(in: conversation) {
            if conversation.pinnedSeqs.contains(seq) {
                AsyncButton("Unpin", systemImage: "pin.slash", problem: $problem) { try await client.unpin(message) }
            } else {
                AsyncButton("Pin", systemImage: "pin", problem: $problem) { try await client.pin(message) }
            }
        }
    }

    private func mayPin(in conversation: Conversation) -> Bool {
        conversation.kind == .direct || [.owner, .admin].contains(conversation.myMembership?.role)
    }
}

struct PinnedViewPreviews: PreviewProvider {
    static var previews: some View {
        PinnedView(chat: PostlineClient.sample.chat(with: "plans"), show: { _ in }, problem: .constant(nil))
    }
}
