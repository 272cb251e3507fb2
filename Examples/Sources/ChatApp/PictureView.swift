import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct PictureView: View {
    let client: PostlineClient
    let attachment: Message.Attachment
    @State private var picture: Data?
    @State private var problem: String?

    var body: some View {
        VStack(alignment: .leading) {
            VStack {
                if let image {
                    image.resizable()
                } else {
                    // Reserves the picture's space.
                    Color(red: 0.9, green: 0.9, blue: 0.9)
                }
            }
            .aspectRatio(ratio, contentMode: .fit)
            if let problem { Text(problem) }
        }
        .task(id: attachment) {
            await attempt($problem) {
                picture = try await client.pictures.picture(of: attachment, maxPixels: 1_200)
            }
        }
    }

    private var image: Image? {
        picture.flatMap(Image.init(picture:)) ?? attachment.blurhash.flatMap(Image.init(blurhash:))
    }

    private var ratio: CGFloat {
        guard let width = attachment.width, let height = attachment.height, height > 0 else { return 1 }
        return CGFloat(width) / CGFloat(height)
    }
}
