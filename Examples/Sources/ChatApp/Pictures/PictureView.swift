import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The picture of a message: the placeholder with the progress of the download, then the picture.
struct PictureView: View {
    let client: PostlineClient
    let attachment: Message.Attachment
    @State private var picture: Image?
    @State private var placeholder: Image?
    @State private var progress: Double?
    @State private var problem: String?

    var body: some View {
        VStack {
            if let image = picture ?? placeholder {
                image.resizable()
            } else {
                // Reserves the picture's space.
                Color.secondary.opacity(0.2)
            }
        }
        .aspectRatio(ratio, contentMode: .fit)
        .frame(maxWidth: 280)
        .clipShape(RoundedRectangle(cornerRadius: 12))
        .overlay {
            if let problem {
                VStack {
                    Text(problem).font(.caption)
                    AsyncButton("Try again", problem: $problem) { try await load() }
                }
            } else if picture == nil {
                ProgressView(value: progress).padding()
            }
        }
        .accessibilityLabel("Picture")
        .task(id: attachment) { await attempt($problem) { try await load() } }
    }

    private func load() async throws {
        if let blurhash = attachment.blurhash { placeholder = await Image.placeholder(blurhash) }
        let (parts, part) = AsyncStream<TransferProgress>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let pictures = client.pictures
        async let file = {
            defer { part.finish() }
            return try await pictures.picture(of: attachment, maxPixels: 1_200) { part.yield($0) }
        }()
        for await part in parts { progress = part.fractionCompleted }
        picture = await Image.decoded(try await file)
    }

    private var ratio: CGFloat {
        guard let width = attachment.width, let height = attachment.height, height > 0 else { return 1 }
        return CGFloat(width) / CGFloat(height)
    }
}

struct PictureViewPreviews: PreviewProvider {
    static var previews: some View {
        PictureView(
            client: .sample,
            attachment: Message.Attachment(url: "https://example.com/lake.jpg", width: 400, height: 300))
    }
}
