import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A user's picture, built-in avatar or initials, or the sign of a group.
struct AvatarView: View {
    /// The built-in avatars that this app draws. For others it draws the initials.
    static let emoji = [
        "fox": "🦊", "otter": "🦦", "owl": "🦉", "panda": "🐼", "whale": "🐳", "turtle": "🐢", "bee": "🐝",
        "flamingo": "🦩", "hedgehog": "🦔", "penguin": "🐧", "koala": "🐨", "dragon": "🐉",
    ]

    let client: PostlineClient
    /// The user, or nil for a group or a user who is not on the device.
    let user: User?
    var isGroup = false
    var size: CGFloat = 40
    /// Grows with the text size.
    @ScaledMetric private var scale: CGFloat = 1
    @State private var picture: Image?

    var body: some View {
        content
            .frame(width: size * scale, height: size * scale)
            .clipShape(Circle())
            .accessibilityHidden(true)
            .task(id: user?.avatar) { await load() }
    }

    @ViewBuilder private var content: some View {
        switch user?.avatar(builtInIDs: Set(Self.emoji.keys)) {
        case .custom?:
            if let picture { picture.resizable().scaledToFill() } else { Color.secondary.opacity(0.2) }
        case .builtIn(let id)?: circle(Self.emoji[id] ?? "", Color.secondary.opacity(0.2))
        case .initials(let letters, let color)?: circle(letters, Color(color))
        case nil: Image(systemName: isGroup ? "person.3.fill" : "person.fill")
        }
    }

    private func circle(_ text: String, _ color: Color) -> some View {
        Text(text)
            .foregroundStyle(.white)
            .frame(maxWidth: .infinity, maxHeight: .infinity)
            .background(color)
    }

    private func load() async {
        guard let avatar = user?.avatar else { return }
        // Until it is loaded, and without a connection, the circle is empty.
        let file = try? await client.pictures.picture(of: avatar, maxPixels: 200)
        if let file { picture = await Image.decoded(file) }
    }
}

extension Color {
    init(_ color: AvatarColor) {
        self.init(red: Double(color.red) / 255, green: Double(color.green) / 255, blue: Double(color.blue) / 255)
    }
}

struct AvatarViewPreviews: PreviewProvider {
    static var previews: some View {
        HStack {
            AvatarView(client: .sample, user: .carol)
            AvatarView(client: .sample, user: User(id: "dave", fullName: "Dave", avatarID: "fox"))
            AvatarView(client: .sample, user: nil, isGroup: true)
        }
    }
}
