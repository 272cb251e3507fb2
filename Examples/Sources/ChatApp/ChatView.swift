import Foundation
import Postline

#if canImport(SwiftUI)
import SwiftUI
#else
import SwiftUIStubs
#endif

struct ChatView: View {
    let client: PostlineClient
    let chat: Chat
    @State private var text: String
    /// The id of the lowest message on the screen. Nil, for the newest, until the user scrolls.
    @State private var lowest: Message.ID?
    @State private var problem: String?

    init(client: PostlineClient, chat: Chat) {
        self.client = client
        self.chat = chat
        _text = State(initialValue: chat.draft)
    }

    var body: some View {
        VStack {
            ScrollView {
                LoadingView(state: chat.loadingState) { try await chat.retry() }
                if chat.hasOlder {
                    Button("Older messages") {
                        Task { await attempt($problem) { try await chat.loadOlder() } }
                    }
                }
                LazyVStack(alignment: .leading) {
                    ForEach(chat.messages) { message in
                        if message.id == chat.firstUnreadID { Text("New messages") }
                        MessageView(client: client, message: message)
                    }
                }
                .scrollTargetLayout()
                if chat.hasNewer {
                    Button("Newer messages") {
                        Task { await attempt($problem) { try await chat.loadNewer() } }
                    }
                    Button("Newest messages") { Task { await chat.jumpToNewest() } }
                }
            }
            .defaultScrollAnchor(.bottom)
            .scrollPosition(id: $lowest, anchor: .bottom)
            .refreshable { await attempt($problem) { try await client.refresh() } }
            .task(id: lastVisible?.seq) {
                guard let lastVisible else { return }
                await attempt($problem) { try await chat.markRead(upTo: lastVisible) }
            }
            if let problem { Text(problem) }
            TextField("Message", text: $text)
                .task(id: text) { await attempt($problem) { try await chat.setDraft(text) } }
                .onSubmit {
                    Task { await send() }
                }
        }
    }

    private var lastVisible: Message? {
        chat.messages.first { $0.id == lowest } ?? chat.messages.last
    }

    private func send() async {
        let content = text
        text = ""
        await attempt($problem) {
            do {
                try await chat.send(content)
            } catch {
                // The store could not be written, as on a full disk.
                text = content
                throw error
            }
        }
    }
}
