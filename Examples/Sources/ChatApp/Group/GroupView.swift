import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A group: its title, its members with their roles, and the user's own membership.
struct GroupView: View {
    let client: PostlineClient
    let chat: Chat
    @Environment(\.dismiss) private var dismiss
    @State private var title: String
    @State private var isAdding = false
    @State private var problem: String?

    init(client: PostlineClient, chat: Chat) {
        self.client = client
        self.chat = chat
        _title = State(initialValue: chat.conversation?.title ?? "")
    }

    var body: some View {
        NavigationStack {
            Form {
                if canManage {
                    Section {
                        TextField("Title", text: $title)
                        AsyncButton("Rename", problem: $problem) { try await chat.rename(to: title) }
                            .disabled(title.isEmpty || title == chat.conversation?.title)
                    }
                }
                Section("Members") {
                    if canManage {
                        Button("Add members", systemImage: "person.badge.plus") { isAdding = true }
                    }
                    ForEach(chat.conversation?.members ?? []) { member in
                        MemberRow(client: client, chat: chat, member: member, problem: $problem)
                    }
                }
                Section {
                    if let conversation = chat.conversation {
                        MuteButton(client: client, conversation: conversation, problem: $problem)
                        if !conversation.isMuted {
                            AsyncButton("Mute for eight hours", systemImage: "bell.slash", problem: $problem) {
                                try await chat.mute(until: Date(timeIntervalSinceNow: 28_800))
                            }
                        }
                    }
                    AsyncButton(
                        "Leave the group", systemImage: "door.left.hand.open", role: .destructive, problem: $problem
                    ) {
                        try await chat.leave()
                        dismiss()
                    }
                }
            }
            .navigationTitle(chat.conversation?.displayName ?? "Group")
            .toolbar {
                ToolbarItem(placement: .confirmationAction) { Button("Done") { dismiss() } }
            }
        }
        .sheet(isPresented: $isAdding) { AddMembersView(client: client, chat: chat) }
        .problemAlert($problem)
    }

    private var canManage: Bool {
        let role = chat.conversation?.myMembership?.role
        return role == .owner || role == .admin
    }
}

struct GroupViewPreviews: PreviewProvider {
    static var previews: some View {
        GroupView(client: .sample, chat: PostlineClient.sample.chat(with: "hike"))
    }
}
