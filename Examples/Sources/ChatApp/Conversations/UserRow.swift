import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A user with avatar, name and username.
struct UserRow: View {
    let client: PostlineClient
    /// Nil for a deleted user.
    let user: User?
    /// True for the signed-in user in a list with others.
    var isMe = false

    var body: some View {
        HStack {
            AvatarView(client: client, user: user)
            VStack(alignment: .leading) {
                Text(isMe ? "\(name) (you)" : name)
                if let username = user?.username { Text("@\(username)").font(.caption).foregroundStyle(.secondary) }
            }
        }
        .accessibilityElement(children: .combine)
    }

    private var name: String { user.shownName }
}

struct UserRowPreviews: PreviewProvider {
    static var previews: some View { UserRow(client: .sample, user: .carol) }
}
