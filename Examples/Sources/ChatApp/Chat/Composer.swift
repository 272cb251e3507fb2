import Foundation
import Postline

#if canImport(SwiftUI)
import PhotosUI
import SwiftUI
import UniformTypeIdentifiers
#else
import SwiftUIStubs
#endif

/// The field for a new message, with its draft, a picture and files.
struct Composer: View {
    let chat: Chat
    /// The message to answer.
    @Binding var replyTo: Message?
    @Binding var problem: String?
    @State private var text: String
    @State private var selection: PhotosPickerItem?
    @State private var picture: Data?
    @State private var isChoosingFiles = false
    @State private var files: [URL] = []

    init(chat: Chat, replyTo: Binding<Message?>, problem: Binding<String?>) {
        self.chat = chat
        _replyTo = replyTo
        _problem = problem
        _text = State(initialValue: chat.draft)
    }

    var body: some View {
        VStack(alignment: .leading) {
            if let replyTo {
                HStack {
                    QuoteView(replyTo)
                    Button("Do not answer", systemImage: "xmark") { self.replyTo = nil }.labelStyle(.iconOnly)
                }
            }
            HStack {
                ForEach(mentions.suggestions(for: text)) { user in
                    Button(user.shownName) { text = Mentions.complete(text, by: user) }
                        .font(.caption)
                }
            }
            field
        }
        .padding()
        .task(id: selection) { await loadSelection() }
        .fileImporter(isPresented: $isChoosingFiles, allowedContentTypes: [.item], allowsMultipleSelection: true) {
            switch $0 {
            case .success(let chosen): files += chosen
            case .failure(let error): problem = error.localizedDescription
            }
        }
    }

    private var field: some View {
        HStack(alignment: .bottom) {
            PhotosPicker(selection: $selection, matching: .images) { Image(systemName: "photo") }
                .accessibilityLabel("Add a picture")
            if picture != nil {
                Button("Remove the picture", systemImage: "photo.badge.checkmark") { picture = nil }
                    .labelStyle(.iconOnly)
            }
            Button("Add files", systemImage: "paperclip") { isChoosingFiles = true }.labelStyle(.iconOnly)
            if !files.isEmpty {
                Button("Remove \(files.count) files", systemImage: "xmark.circle") { files = [] }.labelStyle(.iconOnly)
            }
            TextField("Message", text: $text, axis: .vertical)
                .font(.body)
                .lineLimit(1...5)
                .task(id: text) { await attempt($problem) { try await chat.setDraft(text) } }
            AsyncButton("Send", systemImage: "arrow.up.circle.fill", problem: $problem) { try await send() }
                .labelStyle(.iconOnly)
                .disabled(text.isEmpty && picture == nil && files.isEmpty)
        }
        .font(.title2)
    }

    private var mentions: Mentions { Mentions(conversation: chat.conversation) }

    private func send() async throws {
        let (content, image, chosen, answered) = (text, picture, files, replyTo)
        let details = mentions.details(of: content, replyTo: answered)
        let attachments = attachments
        (text, picture, files, replyTo) = ("", nil, [], nil)
        do {
            if attachments.isEmpty {
                try await chat.send(content, details: details)
            } else {
                try await chosen.withAccess {
                    try await chat.send(attachments: attachments, text: content, details: details)
                }
            }
        } catch {
            // A file is too large, for example, or the disk is full.
            (text, picture, files, replyTo) = (content, image, chosen, answered)
            throw error
        }
    }

    private var attachments: [OutgoingAttachment] {
        let pictures = [picture].compactMap(\.self).map { picture in
            var attachment = OutgoingAttachment(picture)
            if let size = Image.size(of: picture) { (attachment.width, attachment.height) = size }
            return attachment
        }
        return pictures + files.map { OutgoingAttachment(contentsOf: $0) }
    }

    private func loadSelection() async {
        guard let item = selection else { return }
        await attempt($problem) { picture = try await item.loadTransferable(type: Data.self) }
        selection = nil
    }
}

struct ComposerPreviews: PreviewProvider {
    static var previews: some View {
        Composer(
            chat: PostlineClient.sample.chat(with: "plans"), replyTo: .constant(.sample(1, by: .carol, "Hi Robin!")),
            problem: .constant(nil))
    }
}
