import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A list in which the user chooses users: those that are chosen, and a search for others.
struct UserPicker<Header: View>: View {
    let client: PostlineClient
    /// The title of the section of chosen users.
    let title: String
    @Binding var chosen: [User]
    /// Users who cannot be chosen, as members of the group already.
    var excluded: Set<User.ID> = []
    @Binding var problem: String?
    /// The sections above.
    @ViewBuilder let header: () -> Header
    @State private var query = ""
    @State private var found: [User] = []

    var body: some View {
        List {
            header()
            if !chosen.isEmpty {
                Section(title) {
                    ForEach(chosen) { user in
                        Button {
                            chosen.removeAll { $0.id == user.id }
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
                        chosen.append(user)
                    } label: {
                        UserRow(client: client, user: user)
                    }
                    .disabled(excluded.contains(user.id) || chosen.contains { $0.id == user.id })
                }
            }
        }
        .searchable(text: $query, prompt: "Name or username")
        .task(id: query) { await search() }
    }

    private func search() async {
        guard !query.isEmpty else { return found = [] }
        await attempt($problem) {
            // The next key cancels this task.
            try await Task.sleep(for: .milliseconds(300))
            found = try await client.searchProfiles(query)
        }
    }
}

struct UserPickerPreviews: PreviewProvider {
    static var previews: some View {
        UserPicker(client: .sample, title: "Members", chosen: .constant([.carol, .dave]), problem: .constant(nil)) {}
    }
}
