import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The user's own data, and the account.
struct ProfileView: View {
    let client: PostlineClient
    @Environment(\.dismiss) private var dismiss
    @State private var name: String
    @State private var bio: String
    @State private var problem: String?

    init(client: PostlineClient) {
        self.client = client
        _name = State(initialValue: client.me?.fullName ?? "")
        _bio = State(initialValue: client.me?.bio ?? "")
    }

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    NavigationLink("Avatar") { AvatarPicker(client: client) }
                    TextField("Name", text: $name)
                    TextField("About you", text: $bio, axis: .vertical)
                    AsyncButton("Save", problem: $problem) {
                        try await client.updateProfile {
                            $0.fullName = name
                            $0.bio = bio.isEmpty ? nil : bio
                        }
                    }
                    .disabled(name.isEmpty)
                }
                RefusedChangesView(client: client, problem: $problem)
                Section {
                    PresenceButton(client: client, problem: $problem)
                    ReactionsButton(client: client, problem: $problem)
                    NavigationLink("Blocked users") { BlockedView(client: client) }
                    if Notifications.areAvailable {
                        AsyncButton("Turn on notifications", problem: $problem) { try await Notifications.request() }
                    }
                }
                AccountSection(client: client, problem: $problem)
            }
            .navigationTitle("Profile")
            .toolbar {
                ToolbarItem(placement: .confirmationAction) { Button("Done") { dismiss() } }
            }
        }
        .problemAlert($problem)
    }
}

/// Switches whether others see that the user is online.
private struct PresenceButton: View {
    let client: PostlineClient
    @Binding var problem: String?

    var body: some View {
        let hidesPresence = client.me?.hidesPresence == true
        AsyncButton(hidesPresence ? "Show when I am online" : "Hide when I am online", problem: $problem) {
            try await client.updateProfile { $0.hidesPresence = !hidesPresence }
        }
    }
}

/// Switches whether the user is notified of reactions while the app is not open.
private struct ReactionsButton: View {
    let client: PostlineClient
    @Binding var problem: String?

    var body: some View {
        let isOn = client.me?.notifiesOfReactions == true
        AsyncButton(isOn ? "Do not notify me of reactions" : "Notify me of reactions", problem: $problem) {
            try await client.updateProfile { $0.notifiesOfReactions = !isOn }
        }
    }
}

struct ProfileViewPreviews: PreviewProvider {
    static var previews: some View { ProfileView(client: .sample) }
}
