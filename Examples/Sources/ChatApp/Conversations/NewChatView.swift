import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Finds users, and starts a conversation with one or a group with several.
struct NewChatView: View {
    let client: PostlineClient
    /// Shows the conversation that was started.
    let open: @MainActor (Conversation.ID) -> Void
    @Environment(\.dismiss) private var dismiss
    @State private var query = ""
    @State private var found: [User] = []
    @State private var members: [User] = []
    @State private var title = ""
    @State private var problem: String?

    var body: some View {
        NavigationStack {
            List {
                if members.count > 1 {
                    Section("Group") { TextField("Title", text: $title) }
                }
                if !members.isEmpty {
                    Section("Members") {
                        ForEach(members) { user in
                            Button {
                                members.removeAll { $0.id == user.id }
                            } label: {
                                UserRow(client: client, user: user)
                            }
                            .accessibilityAddTraits(.isSelected)
                        }
                    }
                }
                Section {
                    ForEach(found) { user in
                        Button {
                            members.append(user)
                        } label: {
                            UserRow(client: client, user: user)
                        }
                        .disabled(members.contains { $0.id == user.id })
                    }
                }
            }
            .searchable(text: $query, prompt: "Name or username")
            .task(id: query) { await search() }
            .navigationTitle("New chat")
            .toolbar {
                ToolbarItem(placement: .cancellationAction) { Button("Cancel", role: .cancel) { dismiss() } }
                ToolbarItem(placement: .confirmationAction) {
                    AsyncButton("Start", problem: $problem) { try await start() }
                        .disabled(members.isEmpty || members.count > 1 && title.isEmpty)
                }
            }
        }
        .problemAlert($problem)
    }

    private func search() async {
        guard !query.isEmpty else { return found = [] }
        await attempt($problem) {
            // The next key cancels this task.
            try await Task.sleep(for: .milliseconds(300))
            found = try await client.searchProfiles(query)
        }
    }

    private func start() async throws {
        guard let first = members.first else { return }
        let id =
            members.count == 1
            ? try await client.openConversation(with: first.id)
            : try await client.createGroup(title, with: members.map(\.id))
        dismiss()
        open(id)
    }
}

private struct UserRow: View {
    let client: PostlineClient
    let user: User

    var body: some View {
        HStack {
            AvatarView(client: client, user: user)
            VStack(alignment: .leading) {
                Text(user.displayName ?? "Deleted user")
                if let username = user.username { Text("@\(username)").font(.caption).foregroundStyle(.secondary) }
            }
        }
        .accessibilityElement(children: .combine)
    }
}

struct NewChatViewPreviews: PreviewProvider {
    static var previews: some View { NewChatView(client: .sample) { _ in } }
}
