import PostlineClient

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ChatView: View {
    let client: PostlineClient
    let chat: Chat
    @State private var text: String

    init(client: PostlineClient, chat: Chat) {
        self.client = client
        self.chat = chat
        _text = State(initialValue: chat.draft)
    }

    var body: some View {
        VStack {
            List(chat.messages) { message in
                MessageView(client: client, message: message)
            }
            .refreshable { try? await chat.loadOlder() }
            .task(id: chat.messages.last?.seq) { try? await chat.markRead() }
            TextField("Message", text: $text)
                .task(id: text) { try? await chat.setDraft(text) }
                .onSubmit {
                    Task { await send() }
                }
        }
    }

    private func send() async {
        let content = text
        text = ""
        do {
            try await chat.send(content)
        } catch {
            // It could not even be stored, as on a full disk.
            text = content
        }
    }
}

struct MessageView: View {
    let client: PostlineClient
    let message: Message

    var body: some View {
        HStack {
            if let sender = message.sender { AvatarView(avatar: sender.avatar) }
            VStack(alignment: .leading) {
                Text(message.sender?.displayName ?? "Deleted user")
                Text(message.content ?? "This message was deleted.")
                switch message.delivery {
                case .sent: if message.isRead, message.senderID == client.me?.id { Text("Read") }
                case .queued: Text("On its way")
                case .refused(let error, let change):
                    Text(error.message)
                    Button("Try again") { Task { try? await client.retry(change) } }
                    Button("Discard") { Task { try? await client.discard(change) } }
                }
            }
        }
    }
}
