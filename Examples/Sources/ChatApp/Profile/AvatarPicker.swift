import Foundation
import Postline

#if canImport(SwiftUI)
import PhotosUI
import SwiftUI
#else
import SwiftUIStubs
#endif

/// Chooses a picture, a built-in avatar, or the initials.
struct AvatarPicker: View {
    let client: PostlineClient
    @State private var builtIn: [BuiltInAvatar] = []
    @State private var selection: PhotosPickerItem?
    @State private var problem: String?

    var body: some View {
        Form {
            Section {
                AvatarView(client: client, user: client.me?.profile, size: 96)
                PhotosPicker(selection: $selection, matching: .images) {
                    Label("Choose a picture", systemImage: "photo")
                }
                AsyncButton("Use my initials", systemImage: "textformat", problem: $problem) {
                    try await client.updateProfile { $0.avatar = nil }
                }
            }
            Section {
                ForEach(builtIn) { avatar in
                    AsyncButton("\(AvatarView.emoji[avatar.id] ?? "") \(avatar.name)", problem: $problem) {
                        try await client.updateProfile { $0.avatar = .builtIn(id: avatar.id) }
                    }
                }
            }
        }
        .navigationTitle("Avatar")
        .task {
            await attempt($problem) {
                builtIn = try await client.builtInAvatars().filter { AvatarView.emoji[$0.id] != nil }
            }
        }
        .task(id: selection) { await upload() }
        .problemAlert($problem)
    }

    private func upload() async {
        guard let item = selection else { return }
        await attempt($problem) {
            if let picture = try await item.loadTransferable(type: Data.self) { try await client.setAvatar(picture) }
        }
        selection = nil
    }
}

struct AvatarPickerPreviews: PreviewProvider {
    static var previews: some View { AvatarPicker(client: .sample) }
}
