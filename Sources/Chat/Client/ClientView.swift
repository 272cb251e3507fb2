internal import Observation
internal import PostlineClient
internal import Synchronization

/// Reads what the client shows, and says when that has changed.
@MainActor
final class ClientView {
    let client: PostlineClient
    private let sink: AsyncStream<AppEvent>.Continuation
    /// Those that are followed: who lets go of one does not see its messages any more.
    private var chats: [String: Chat] = [:]
    /// Whether something has changed since it was read.
    private let isStale = Flag()

    init(_ client: PostlineClient, sink: AsyncStream<AppEvent>.Continuation) {
        self.client = client
        self.sink = sink
    }

    /// Gives what is shown now, where it is other than before, with the messages of those that are followed.
    func news(following ids: Set<String>) -> Shown? {
        let hasFollowed = follow(ids)
        return isStale.value.load(ordering: .relaxed) || hasFollowed ? read() : nil
    }

    /// The messages of a conversation.
    func chat(_ id: String) -> Chat { chats[id] ?? client.chat(with: id) }

    private func follow(_ ids: Set<String>) -> Bool {
        guard ids != Set(chats.keys) else { return false }
        chats = ids.reduce(into: [:]) { $0[$1] = chat($1) }
        return true
    }

    private func read() -> Shown {
        isStale.value.store(false, ordering: .relaxed)
        return withObservationTracking {
            var isSigningIn = false
            if case .signingIn = client.account { isSigningIn = true }
            return Shown(
                state: client.state, isSigningIn: isSigningIn, me: client.me, conversations: client.conversations,
                chats: chats.mapValues { .init(messages: $0.messages, hasOlder: $0.hasOlder) },
                refused: client.refusedChanges, waiting: client.pendingChangeCount, typing: client.typingUserIDs,
                fault: fault?.message)
        } onChange: { [sink, isStale] in
            // It is about to change. All of it changes in this turn, and the event is looked at in a later one.
            if !isStale.value.exchange(true, ordering: .relaxed) { sink.yield(.changed) }
        }
    }

    /// What keeps the chat from going on, and is not just that there is no network.
    private var fault: PostlineError? {
        client.storeError ?? client.connectionError.flatMap { $0.code == .offline ? nil : $0 }
    }

    private final class Flag: Sendable {
        let value = Atomic(true)
    }
}
