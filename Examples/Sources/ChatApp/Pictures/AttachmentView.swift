import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

/// An attachment of a message: a picture, which opens on the whole screen, or a file.
struct AttachmentView: View {
    let client: PostlineClient
    let attachment: Message.Attachment
    @State private var isShowingPicture = false

    var body: some View {
        if attachment.kind == .image {
            PictureView(client: client, attachment: attachment)
                .onTapGesture { isShowingPicture = true }
                .accessibilityAddTraits(.isButton)
                .fullScreen(isPresented: $isShowingPicture) { PictureScreen(client: client, attachment: attachment) }
        } else {
            FileView(client: client, attachment: attachment)
        }
    }
}

/// A video, an audio or another file: its name, size and length, and a button that downloads and then shares it.
struct FileView: View {
    let client: PostlineClient
    let attachment: Message.Attachment
    @State private var file: URL?
    @State private var progress: Double?
    @State private var problem: String?

    var body: some View {
        HStack {
            Image(systemName: symbol).accessibilityHidden(true)
            VStack(alignment: .leading) {
                Text(attachment.name ?? "File").lineLimit(1)
                Text(details).font(.caption)
            }
            if let file {
                ShareLink(item: file) { Image(systemName: "square.and.arrow.up") }.accessibilityLabel("Share the file")
            } else if let progress {
                ProgressView(value: progress).frame(width: 40)
            } else {
                AsyncButton("Download", systemImage: "arrow.down.circle", problem: $problem) { try await download() }
                    .labelStyle(.iconOnly)
            }
        }
        .padding(6)
        .background(.bar, in: RoundedRectangle(cornerRadius: 10))
        .problemAlert($problem)
    }

    private func download() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let target = folder.appending(path: attachment.suggestedFilename)
        let (parts, part) = AsyncStream<TransferProgress>.makeStream(bufferingPolicy: .bufferingNewest(1))
        defer { progress = nil }
        async let isDone: Void = {
            defer { part.finish() }
            try await client.download(attachment, to: target) { part.yield($0) }
        }()
        for await part in parts { progress = part.fractionCompleted }
        try await isDone
        file = target
    }

    private var details: String {
        let size = attachment.bytes.map { $0.formatted(.byteCount(style: .file)) }
        let length = attachment.duration.map { $0.formatted(.time(pattern: .minuteSecond)) }
        return [size, length].compactMap(\.self).joined(separator: " · ")
    }

    private var symbol: String {
        switch attachment.kind {
        case .video: "film"
        case .audio: "waveform"
        default: "doc"
        }
    }
}

struct AttachmentViewPreviews: PreviewProvider {
    static var previews: some View {
        AttachmentView(
            client: .sample,
            attachment: Message.Attachment(
                url: "https://example.com/plan.pdf", mimeType: "application/pdf", bytes: 90_000, name: "Plan.pdf"))
    }
}
