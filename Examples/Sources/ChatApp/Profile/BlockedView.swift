import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The users whom the user blocks.
struct BlockedView: View {
    let client: PostlineClient
    /// The profiles of users who share no conversation with the user.
    @State private var others: [User] = []
    @State private var problem: String?

    var body: some View {
        List {
            ForEach(client.blockedUserIDs, id: \.self) { id in
                HStack {
                    UserRow(client: client, user: user(id))
                    Spacer()
                    AsyncButton("Unblock", problem: $problem) { try await client.unblock(id) }.buttonStyle(.borderless)
                }
            }
        }
        .overlay {
            if client.blockedUserIDs.isEmpty {
                ContentUnavailableView { Label("You block nobody", systemImage: "hand.raised") }
            }
        }
        .navigationTitle("Blocked users")
        .task {
            let unknown = client.blockedUserIDs.filter { user($0) == nil }.prefix(100)
            if !unknown.isEmpty { others = (try? await client.profiles(withIDs: Array(unknown))) ?? [] }
        }
        .problemAlert($problem)
    }

    private func user(_ id: User.ID) -> User? {
        (client.conversations.flatMap(\.users) + others).first { $0.id == id }
    }
}

struct BlockedViewPreviews: PreviewProvider {
    static var previews: some View { NavigationStack { BlockedView(client: .sample) } }
}
