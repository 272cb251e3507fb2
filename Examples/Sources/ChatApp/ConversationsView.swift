import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ConversationsView: View {
    let client: PostlineClient
    @State private var problem: String?

    var body: some View {
        NavigationStack {
            LoadingView(state: client.listState) { try await client.refresh() }
            List(client.conversations) { conversation in
                NavigationLink(value: conversation.id) {
                    HStack {
                        if let other = conversation.otherUser { AvatarView(client: client, profile: other) }
                        VStack(alignment: .leading) {
                            Text(conversation.displayName ?? "Deleted user")
                            Text(conversation.draft.map { "Draft: \($0)" } ?? conversation.lastMessageContent ?? "")
                        }
                    }
                }
                .badge(conversation.unreadCount)
            }
            .refreshable { await attempt($problem) { try await client.refresh() } }
            .navigationTitle(problem ?? title)
            .navigationDestination(for: Conversation.ID.self) { id in
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
