import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ConversationsView: View {
    let client: PostlineClient
    @Binding var path: [ChatLink]
    @State private var search = ""
    @State private var isShowingProfile = false
    @State private var isStarting = false
    @State private var problem: String?

    var body: some View {
        NavigationStack(path: $path) {
            List(found) { conversation in
                NavigationLink(value: ChatLink(conversationID: conversation.id)) {
                    ConversationRow(client: client, conversation: conversation)
                }
                .swipeActions {
                    MuteButton(client: client, conversation: conversation, problem: $problem)
                    ArchiveButtons(client: client, conversation: conversation, problem: $problem)
                }
                .contextMenu {
                    if let user = conversation.otherUser {
                        BlockButton(client: client, user: user, problem: $problem)
                    }
                }
            }
            .overlay {
                if client.conversations.isEmpty { EmptyListView(client: client) }
            }
            .searchable(text: $search)
            .refreshable { await attempt($problem) { try await client.refresh() } }
            .navigationTitle(title)
            .navigationDestination(for: ChatLink.self) { link in
                ChatView(client: client, chat: client.chat(with: link.conversationID), seq: link.seq)
            }
            .toolbar {
                ToolbarItem(placement: .navigation) {
                    Button("Profile", systemImage: "person.crop.circle") { isShowingProfile = true }
                }
                ToolbarItem(placement: .primaryAction) {
                    Button("New chat", systemImage: "square.and.pencil") { isStarting = true }
                }
            }
        }
        .sheet(isPresented: $isShowingProfile) { ProfileView(client: client) }
        .sheet(isPresented: $isStarting) {
            NewChatView(client: client) { path = [ChatLink(conversationID: $0)] }
        }
        .task(id: client.unreadCount) { await Notifications.setBadge(client.unreadCount) }
        .problemAlert($problem)
    }

    /// The pinned conversations first. A search finds archived ones too.
    private var found: [Conversation] {
        guard !search.isEmpty else {
            let shown = client.conversations.filter { !$0.isArchived }
            return shown.filter(\.isPinned) + shown.filter { !$0.isPinned }
        }
        return client.conversations.filter { $0.displayName?.localizedStandardContains(search) == true }
    }

    private var title: String {
        switch client.state {
        case .live, .signedOut: "Chats"
        case .connecting, .catchingUp: "Connecting…"
        case .offline: "Offline"
        }
    }
}

/// The list before it has loaded, or without conversations.
private struct EmptyListView: View {
    let client: PostlineClient

    var body: some View {
        if client.listState == .idle {
            ContentUnavailableView {
                Label("No chats yet", systemImage: "bubble.left.and.bubble.right")
            }
        } else {
            LoadingView(state: client.listState) { try await client.refresh() }
        }
    }
}

struct ConversationsViewPreviews: PreviewProvider {
    static var previews: some View { ConversationsView(client: .sample, path: .constant([])) }
}
