import Foundation
import PostlineClient

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct AvatarView: View {
    let avatar: Avatar

    var body: some View {
        switch avatar {
        case .custom(let url):
            AsyncImage(url: URL(string: url)) { image in
                image.resizable()
            } placeholder: {
                EmptyView()
            }
            .frame(width: 40, height: 40)
            .clipShape(Circle())
        case .builtIn(let id):
            // A picture of the app's own for each id of the server's catalogue.
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
