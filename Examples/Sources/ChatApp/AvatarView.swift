import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct AvatarView: View {
    /// The built-in avatars that this app has pictures for. For others it draws the initials.
    private static let pictures = BuiltInAvatar.standardIDs

    let client: PostlineClient
    let profile: User
    @State private var picture: Data?

    var body: some View {
        switch profile.avatar(builtInIDs: Self.pictures) {
        case .custom:
            VStack {
                if let image = picture.flatMap(Image.init(picture:)) { image.resizable() }
            }
            .frame(width: 40, height: 40)
            .clipShape(Circle())
            .task(id: profile.avatar) {
                // Until it is loaded, and without a connection, the circle is empty.
                picture = try? await client.pictures.picture(of: profile.avatar, maxPixels: 120)
            }
        case .builtIn(let id):
            Image(id).resizable().frame(width: 40, height: 40)
        case .initials(let letters, let color):
            Text(letters)
                .foregroundStyle(.white)
                .frame(width: 40, height: 40)
                .background(Color(color), in: Circle())
        }
    }
}

extension Color {
    init(_ color: AvatarColor) {
        self.init(red: Double(color.red) / 255, green: Double(color.green) / 255, blue: Double(color.blue) / 255)
    }
}
