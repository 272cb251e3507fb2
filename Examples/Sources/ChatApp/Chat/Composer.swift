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
    @Binding var problem: String?
    @State private var text: String
    @State private var selection: PhotosPickerItem?
    @State private var picture: Data?

    init(chat: Chat, problem: Binding<String?>) {
        self.chat = chat
        _problem = problem
        _text = State(initialValue: chat.draft)
    }

    var body: some View {
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
        .padding()
        .task(id: selection) { await loadSelection() }
    }

    private func send() async throws {
        let (content, file) = (text, picture)
        (text, picture) = ("", nil)
        do {
            if let file {
                let size = Image.size(of: file)
                try await chat.send(picture: file, text: content, width: size?.width, height: size?.height)
            } else {
                try await chat.send(content)
            }
        } catch {
            // The store could not be written, as on a full disk.
            (text, picture) = (content, file)
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
        Composer(chat: PostlineClient.sample.chat(with: "plans"), problem: .constant(nil))
    }
}
