import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Blocks a user, or ends the block. A menu within the menu asks first, and says what a block does.
struct BlockButton: View {
    let client: PostlineClient
    let user: User
    @Binding var problem: String?

    var body: some View {
        if client.blockedUserIDs.contains(user.id) {
            AsyncButton("Unblock", systemImage: "hand.raised.slash", problem: $problem) {
                try await client.unblock(user.id)
            }
        } else if !user.isDeleted {
            Menu("Block…", systemImage: "hand.raised") {
                Section("Neither of you can write to the other, and messages in groups are hidden from you.") {
                    AsyncButton("Block \(user.shownName)", role: .destructive, problem: $problem) {
                        try await client.block(user.id)
                    }
                }
            }
        }
    }
}

struct BlockButtonPreviews: PreviewProvider {
    static var previews: some View { BlockButton(client: .sample, user: .carol, problem: .constant(nil)) }
}
