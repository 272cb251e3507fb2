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
    @State private var members: [User] = []
    @State private var title = ""
    @State private var problem: String?

    var body: some View {
        NavigationStack {
            UserPicker(client: client, title: "Members", chosen: $members, problem: $problem) {
                if members.count > 1 {
                    Section("Group") { TextField("Title", text: $title) }
                }
            }
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

struct NewChatViewPreviews: PreviewProvider {
    static var previews: some View { NewChatView(client: .sample) { _ in } }
}
