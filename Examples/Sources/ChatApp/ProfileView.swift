import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ProfileView: View {
    let client: PostlineClient
    @State private var name = ""
    @State private var problem: String?

    var body: some View {
        Form {
            if let me = client.me {
                AvatarView(client: client, profile: me.profile)
                TextField(me.fullName ?? "Your name", text: $name)
                Button("Save") {
                    Task { await attempt($problem) { try await client.updateProfile { $0.fullName = name } } }
                }
            }
            ForEach(client.refusedChanges) { change in
                Text(change.error.localizedDescription)
            }
            Button("Sign out") {
                Task { await attempt($problem) { try await client.signOut() } }
            }
            Button("Sign out and erase my data on this device") {
                Task { await attempt($problem) { try await client.signOut(erasing: true) } }
            }
            if let problem { Text(problem) }
        }
    }
}
