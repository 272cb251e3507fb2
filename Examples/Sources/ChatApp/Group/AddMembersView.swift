import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Finds users, and adds them to a group.
struct AddMembersView: View {
    let client: PostlineClient
    let chat: Chat
    @Environment(\.dismiss) private var dismiss
    @State private var users: [User] = []
    @State private var problem: String?

    var body: some View {
        NavigationStack {
            UserPicker(client: client, title: "New members", chosen: $users, excluded: memberIDs, problem: $problem) {}
                .navigationTitle("Add members")
                .toolbar {
                    ToolbarItem(placement: .cancellationAction) { Button("Cancel", role: .cancel) { dismiss() } }
                    ToolbarItem(placement: .confirmationAction) {
                        AsyncButton("Add", problem: $problem) {
                            try await chat.addMembers(users.map(\.id))
                            dismiss()
                        }
                        .disabled(users.isEmpty)
                    }
                }
        }
        .problemAlert($problem)
    }

    private var memberIDs: Set<User.ID> { Set(chat.conversation?.members.map(\.userID) ?? []) }
}

struct AddMembersViewPreviews: PreviewProvider {
    static var previews: some View {
        AddMembersView(client: .sample, chat: PostlineClient.sample.chat(with: "hike"))
    }
}
