import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ChatView: View {
    let client: PostlineClient
    let chat: Chat
    /// The number of the message to show, or nil for the first unread or the newest one.
    var seq: Int?
    @Environment(\.scenePhase) private var phase
    @Environment(\.dismiss) private var dismiss
    /// The id of the lowest message on the screen. Nil, for the newest, until the user scrolls.
    @State private var lowest: Message.ID?
    /// True while the newest message is on the screen.
    @State private var isAtEnd = true
    /// True once the view has scrolled to its first message, and so shows what the user reads.
    @State private var isOpen = false
    @State private var isShowingGroup = false
    @State private var replyTo: Message?
    @State private var problem: String?

    var body: some View {
        ScrollViewReader { proxy in
            ScrollView {
                LazyVStack(spacing: 8) {
                    if chat.hasOlder {
                        PageView(state: chat.olderState, edge: chat.messages.first?.id) { try await chat.loadOlder() }
                    }
                    ForEach(ChatRow.rows(of: chat.messages, firstUnread: chat.firstUnreadID)) { row in
                        ChatRowView(client: client, row: row, conversation: chat.conversation) { replyTo = row.message }
                    }
                    if chat.hasNewer {
                        PageView(state: chat.newerState, edge: chat.messages.last?.id) { try await chat.loadNewer() }
                    }
                }
                .scrollTargetLayout()
                .padding(.horizontal)
            }
            .defaultScrollAnchor(.bottom)
            .scrollPosition(id: $lowest, anchor: .bottom)
            .task { await open(proxy) }
        }
        .overlay {
            if chat.messages.isEmpty { LoadingView(state: chat.loadingState) { try await chat.retry() } }
        }
        .overlay(alignment: .bottomTrailing) {
            if chat.hasNewer { NewestButton { await showNewest() } }
        }
        .safeAreaInset(edge: .top) {
            PinnedView(chat: chat, show: { try await show($0) }, problem: $problem)
        }
        .safeAreaInset(edge: .bottom) {
            VStack(alignment: .leading, spacing: 0) {
                PresenceView(chat: chat).font(.caption).foregroundStyle(.secondary).padding(.horizontal)
                if chat.conversation?.isBlocked == true, let user = chat.conversation?.otherUser {
                    BlockedBar(client: client, user: user, problem: $problem)
                } else {
                    Composer(chat: chat, replyTo: $replyTo, problem: $problem)
                }
            }
            .background(.bar)
        }
        .navigationTitle(chat.conversation?.shownName ?? "")
        .toolbar {
            ToolbarItem(placement: .primaryAction) {
                if chat.conversation?.kind == .group {
                    Button("Group", systemImage: "person.2") { isShowingGroup = true }
                } else if let user = chat.conversation?.otherUser {
                    BlockButton(client: client, user: user, problem: $problem)
                }
            }
        }
        .sheet(isPresented: $isShowingGroup) { GroupView(client: client, chat: chat) }
        .onChange(of: chat.conversation == nil) { _, isGone in
            // The user has left the group, or was removed.
            if isGone { dismiss() }
        }
        .onChange(of: lowest) { _, lowest in
            isAtEnd = !chat.hasNewer && lowest == chat.messages.last?.id
        }
        .onChange(of: chat.messages.last?.id) { former, newest in
            guard former != nil, !chat.hasNewer else { return }
            // Stays at the end, and goes there with the user's own message.
            if isAtEnd || chat.messages.last?.isMine == true { lowest = newest }
        }
        .onChange(of: phase) { _, phase in
            if phase == .active { chat.resetFirstUnread() }
        }
        .task(id: readMark) {
            guard readMark != nil, let lastVisible else { return }
            await attempt($problem) { try await chat.markRead(upTo: lastVisible) }
        }
        .problemAlert($problem)
    }

    private var lastVisible: Message? {
        chat.messages.first { $0.id == lowest } ?? chat.messages.last
    }

    private var readMark: Int? { isOpen ? lastVisible?.seq : nil }

    /// Shows the first message.
    private func open(_ proxy: ScrollViewProxy) async {
        guard !isOpen else { return }
        await attempt($problem) {
            try await chat.load()
            if let seq = seq ?? (chat.firstUnreadID == nil ? chat.firstUnreadSeq : nil) {
                try await chat.jump(toSeq: seq)
            }
        }
        let message = seq.flatMap { seq in chat.messages.first { $0.seq == seq }?.id } ?? chat.firstUnreadID
        if let message { proxy.scrollTo(message, anchor: .center) }
        isOpen = true
    }

    /// Shows a message by its number.
    private func show(_ seq: Int) async throws {
        try await chat.jump(toSeq: seq)
        lowest = chat.messages.first { $0.seq == seq }?.id
    }

    private func showNewest() async {
        await chat.jumpToNewest()
        lowest = chat.messages.last?.id
    }
}

/// Stands in place of the composer while neither can write.
private struct BlockedBar: View {
    let client: PostlineClient
    let user: User
    @Binding var problem: String?

    var body: some View {
        HStack {
            Text("You have blocked \(user.shownName).").foregroundStyle(.secondary)
            BlockButton(client: client, user: user, problem: $problem)
        }
        .padding()
    }
}

/// Leads from older messages to the newest ones.
private struct NewestButton: View {
    let show: @MainActor () async -> Void
    @State private var problem: String?

    var body: some View {
        AsyncButton("Newest messages", systemImage: "arrow.down.circle.fill", problem: $problem) { await show() }
            .labelStyle(.iconOnly)
            .font(.title)
            .padding()
    }
}

struct ChatViewPreviews: PreviewProvider {
    static var previews: some View {
        let client = PostlineClient.sample
        NavigationStack { ChatView(client: client, chat: client.chat(with: "plans")) }
    }
}
