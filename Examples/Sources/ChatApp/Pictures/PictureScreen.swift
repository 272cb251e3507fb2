import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// A picture of a message on the whole screen. Two fingers or a double tap zoom it, and one finger moves it.
struct PictureScreen: View {
    let client: PostlineClient
    let attachment: Message.Attachment
    @Environment(\.dismiss) private var dismiss
    @State private var picture: Image?
    @State private var zoom: CGFloat = 1
    /// The zoom when two fingers touched the screen. Nil otherwise.
    @State private var startZoom: CGFloat?
    @State private var problem: String?

    var body: some View {
        NavigationStack {
            GeometryReader { space in
                ScrollView([.horizontal, .vertical]) {
                    content.frame(width: space.size.width * zoom, height: space.size.height * zoom)
                }
                .simultaneousGesture(pinch)
                .onTapGesture(count: 2) { zoom = zoom > 1 ? 1 : 3 }
            }
            .background(.black)
            .toolbar {
                ToolbarItem(placement: .confirmationAction) { Button("Done") { dismiss() } }
            }
        }
        .task(id: attachment) { await attempt($problem) { try await load() } }
    }

    @ViewBuilder private var content: some View {
        if let picture {
            picture.resizable().scaledToFit()
                .accessibilityLabel("Picture")
                .accessibilityZoomAction { action in
                    setZoom(action.direction == .zoomIn ? zoom * 2 : zoom / 2)
                }
        } else if let problem {
            VStack {
                Text(problem).foregroundStyle(.white)
                AsyncButton("Try again", problem: $problem) { try await load() }
            }
        } else {
            ProgressView()
        }
    }

    private var pinch: some Gesture {
        MagnifyGesture()
            .onChanged { value in
                let start = startZoom ?? zoom
                startZoom = start
                setZoom(start * value.magnification)
            }
            .onEnded { _ in startZoom = nil }
    }

    private func setZoom(_ value: CGFloat) { zoom = min(max(value, 1), 8) }

    private func load() async throws {
        let file = try await client.pictures.picture(of: attachment, maxPixels: 2_048)
        picture = await Image.decoded(file)
        if picture == nil { problem = "This device cannot show the picture." }
    }
}

extension View {
    /// Shows a view on the whole screen. A Mac shows it in a sheet.
    func fullScreen(isPresented: Binding<Bool>, @ViewBuilder content: @escaping () -> some View) -> some View {
        #if os(iOS)
        fullScreenCover(isPresented: isPresented, content: content)
        #else
        sheet(isPresented: isPresented, content: content)
        #endif
    }
}

struct PictureScreenPreviews: PreviewProvider {
    static var previews: some View {
        PictureScreen(
            client: .sample,
            attachment: Message.Attachment(url: "https://example.com/lake.jpg", width: 400, height: 300))
    }
}
