import Observation
import Postline
import Synchronization

/// Reads the client's state, and signals when it has changed.
@MainActor
final class ClientView {
    let client: PostlineClient
    private let sink: AsyncStream<AppEvent>.Continuation
    /// The followed conversations. Releasing one ends its updates.
    private var chats: [Conversation.ID: Chat] = [:]
    /// True if the state has changed since it was last read.
    private let isStale = Flag()

    init(_ client: PostlineClient, sink: AsyncStream<AppEvent>.Continuation) {
        self.client = client
        self.sink = sink
    }

    /// Returns the current state with the messages of the followed conversations, or nil if it has not changed.
    func news(following ids: Set<Conversation.ID>) -> ClientSnapshot? {
        let hasFollowed = follow(ids)
        return isStale.value.load(ordering: .relaxed) || hasFollowed ? read() : nil
    }

    /// Returns the messages of a conversation.
    func chat(_ id: Conversation.ID) -> Chat {
        if let chat = chats[id] { return chat }
        let chat = client.chat(with: id)
        // New messages are printed also after `/older`.
        chat.maxMessages = .max
        return chat
    }

    private func follow(_ ids: Set<Conversation.ID>) -> Bool {
        guard ids != Set(chats.keys) else { return false }
        chats = ids.reduce(into: [:]) { $0[$1] = chat($1) }
        return true
    }

    private func read() -> ClientSnapshot {
        isStale.value.store(false, ordering: .relaxed)
        return withObservationTracking {
            var isSigningIn = false
            if case .signingIn = client.account { isSigningIn = true }
            return ClientSnapshot(
                state: client.state, isSigningIn: isSigningIn, me: client.me, conversations: client.conversations,
                chats: chats.filter { $0.value.loadingState == .idle }
                    .mapValues { .init(messages: $0.messages, hasOlder: $0.hasOlder) },
                refused: client.refusedChanges, waiting: client.pendingChangeCount, typing: client.typingUserIDs,
                blocked: client.blockedUserIDs, fault: fault?.message)
        } onChange: { [sink, isStale] in
            // The state is about to change. The whole change completes in this turn of the main actor; the event is
            // handled in a later one.
            if !isStale.value.exchange(true, ordering: .relaxed) { sink.yield(.changed) }
        }
    }

    /// The error that keeps the chat from continuing, other than a missing network.
    private var fault: PostlineError? {
        client.storeError ?? client.connectionError.flatMap { $0.code == .offline ? nil : $0 }
    }

    private final class Flag: Sendable {
        let value = Atomic(true)
    }
}
