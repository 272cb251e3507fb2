import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct EditMessageView: View {
    let client: PostlineClient
    let message: Message
    @Environment(\.dismiss) private var dismiss
    @State private var text: String
    @State private var problem: String?

    init(client: PostlineClient, message: Message) {
        self.client = client
        self.message = message
        _text = State(initialValue: message.content ?? "")
    }

    var body: some View {
        NavigationStack {
            Form { TextField("Message", text: $text, axis: .vertical) }
                .navigationTitle("Edit message")
                .toolbar {
                    ToolbarItem(placement: .cancellationAction) { Button("Cancel", role: .cancel) { dismiss() } }
                    ToolbarItem(placement: .confirmationAction) {
                        AsyncButton("Save", problem: $problem) {
                            try await client.edit(message, to: text)
                            dismiss()
                        }
                        .disabled(text.isEmpty)
                    }
                }
        }
        .problemAlert($problem)
    }
}

struct EditMessageViewPreviews: PreviewProvider {
    static var previews: some View { EditMessageView(client: .sample, message: .sample(2, by: .robin, "To the lake.")) }
}
