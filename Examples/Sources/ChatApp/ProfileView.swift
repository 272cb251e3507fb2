import PostlineClient

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ProfileView: View {
    let client: PostlineClient
    @State private var name = ""

    var body: some View {
        Form {
            if let me = client.me {
                AvatarView(avatar: me.avatar)
                TextField(me.fullName ?? "Your name", text: $name)
                Button("Save") {
                    Task { try? await client.updateProfile { $0.fullName = name } }
                }
            }
            ForEach(client.refusedChanges) { change in
                Text(change.error.message)
            }
            Button("Sign out") {
                Task { try? await client.signOut() }
            }
        }
    }
}
