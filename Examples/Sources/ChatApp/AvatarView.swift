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

    let profile: User

    var body: some View {
        switch profile.avatar(builtInIDs: Self.pictures) {
        case .custom(let url):
            AsyncImage(url: URL(string: url)) { image in
                image.resizable()
            } placeholder: {
                EmptyView()
            }
            .frame(width: 40, height: 40)
            .clipShape(Circle())
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
