import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The reactions to a message. A tap sets or removes the user's own.
struct ReactionsView: View {
    let client: PostlineClient
    let message: Message
    @Binding var problem: String?

    var body: some View {
        HStack(spacing: 4) {
            ForEach(message.reactions) { reaction in
                AsyncButton("\(reaction.emoji) \(reaction.count)", problem: $problem) {
                    try await client.react(to: message, with: reaction.emoji, isSet: !reaction.isMine)
                }
                .padding(.horizontal, 6)
                .background((reaction.isMine ? Color.accentColor : Color.secondary).opacity(0.2), in: Capsule())
            }
        }
        .font(.caption)
    }
}

/// The reactions that a menu offers.
struct ReactionMenu: View {
    static let emoji = ["👍", "❤️", "😂", "🎉"]

    let client: PostlineClient
    let message: Message
    @Binding var problem: String?

    var body: some View {
        ForEach(Self.emoji.map { own($0) ?? Reaction(emoji: $0, count: 0) }) { reaction in
            AsyncButton("\(reaction.isMine ? "Remove" : "React with") \(reaction.emoji)", problem: $problem) {
                try await client.react(to: message, with: reaction.emoji, isSet: !reaction.isMine)
            }
        }
    }

    private func own(_ emoji: String) -> Reaction? { message.reactions.first { $0.emoji == emoji && $0.isMine } }
}

struct ReactionsViewPreviews: PreviewProvider {
    static var previews: some View {
        ReactionsView(client: .sample, message: .sampleReply, problem: .constant(nil))
    }
}
