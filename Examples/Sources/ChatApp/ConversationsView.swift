import PostlineClient

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ConversationsView: View {
    let client: PostlineClient

    var body: some View {
        NavigationStack {
            List(client.conversations) { conversation in
                NavigationLink(value: conversation.id) {
                    VStack(alignment: .leading) {
                        Text(conversation.name(for: client.me?.id ?? "") ?? "Deleted user")
                        Text(conversation.draft.map { "Draft: \($0)" } ?? conversation.lastMessageContent ?? "")
                    }
                }
                .badge(conversation.unreadCount)
            }
            .navigationTitle(title)
            .navigationDestination(for: String.self) { id in
                ChatView(client: client, chat: client.chat(with: id))
            }
            .toolbar {
                NavigationLink("Profile") { ProfileView(client: client) }
            }
        }
    }

    private var title: String {
        switch client.state {
        case .live, .signedOut: "Chats"
        case .connecting, .catchingUp: "Connecting…"
        case .offline: "Offline"
        }
    }
}
