import Foundation
import Postline

#if canImport(SwiftUI)
import PhotosUI
import SwiftUI
#else
import SwiftUIStubs
#endif

/// The field for a new message, with its draft and a picture.
struct Composer: View {
    let chat: Chat
    /// The message to answer.
    @Binding var replyTo: Message?
    @Binding var problem: String?
    @State private var text: String
    @State private var selection: PhotosPickerItem?
    @State private var picture: Data?

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
                    Button(user.displayName ?? "Deleted user") { text = Mentions.complete(text, by: user) }
                        .font(.caption)
                }
            }
            field
        }
        .padding()
        .task(id: selection) { await loadSelection() }
    }

    private var field: some View {
        HStack(alignment: .bottom) {
            PhotosPicker(selection: $selection, matching: .images) { Image(systemName: "photo") }
                .accessibilityLabel("Add a picture")
            if picture != nil {
                Button("Remove the picture", systemImage: "photo.badge.checkmark") { picture = nil }
                    .labelStyle(.iconOnly)
            }
            TextField("Message", text: $text, axis: .vertical)
                .font(.body)
                .lineLimit(1...5)
                .task(id: text) { await attempt($problem) { try await chat.setDraft(text) } }
            AsyncButton("Send", systemImage: "arrow.up.circle.fill", problem: $problem) { try await send() }
                .labelStyle(.iconOnly)
                .disabled(text.isEmpty && picture == nil)
        }
        .font(.title2)
    }

    private var mentions: Mentions { Mentions(conversation: chat.conversation) }

    private func send() async throws {
        let (content, file, answered) = (text, picture, replyTo)
        let details = mentions.details(of: content, replyTo: answered)
        (text, picture, replyTo) = ("", nil, nil)
        do {
            if let file {
                let size = Image.size(of: file)
                try await chat.send(
                    picture: file, text: content, width: size?.width, height: size?.height, details: details)
            } else {
                try await chat.send(content, details: details)
            }
        } catch {
            // The store could not be written, as on a full disk.
            (text, picture, replyTo) = (content, file, answered)
            throw error
        }
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
