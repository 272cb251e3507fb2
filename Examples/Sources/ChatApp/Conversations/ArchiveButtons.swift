import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Changes what the user alone sees of a conversation: in the archive, at the top, marked as unread.
struct ArchiveButtons: View {
    let client: PostlineClient
    let conversation: Conversation
    @Binding var problem: String?

    var body: some View {
        AsyncButton(
            conversation.isArchived ? "Unarchive" : "Archive", systemImage: "archivebox", problem: $problem
        ) {
            try await client.setArchived(!conversation.isArchived, of: conversation.id)
        }
        AsyncButton(conversation.isPinned ? "Unpin" : "Pin", systemImage: "pin", problem: $problem) {
            try await client.setPinned(!conversation.isPinned, of: conversation.id)
        }
        if conversation.unreadCount == 0, !conversation.isMarkedUnread {
            AsyncButton("Mark as unread", systemImage: "circle.fill", problem: $problem) {
                try await client.setMarkedUnread(true, of: conversation.id)
            }
        } else {
            AsyncButton("Mark as read", systemImage: "circle", problem: $problem) {
                try await client.markRead(conversation.id)
            }
        }
    }
}

struct ArchiveButtonsPreviews: PreviewProvider {
    static var previews: some View {
        List(PostlineClient.sample.conversations) {
            ArchiveButtons(client: .sample, conversation: $0, problem: .constant(nil))
        }
    }
}
