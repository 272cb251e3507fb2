import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Switches the pushes of a conversation.
struct MuteButton: View {
    let client: PostlineClient
    let conversation: Conversation
    @Binding var problem: String?

    var body: some View {
        if conversation.isMuted {
            AsyncButton("Unmute", systemImage: "bell", problem: $problem) { try await client.unmute(conversation.id) }
        } else {
            AsyncButton("Mute", systemImage: "bell.slash", problem: $problem) { try await client.mute(conversation.id) }
        }
    }
}

struct MuteButtonPreviews: PreviewProvider {
    static var previews: some View {
        List(PostlineClient.sample.conversations) {
            MuteButton(client: .sample, conversation: $0, problem: .constant(nil))
        }
    }
}
