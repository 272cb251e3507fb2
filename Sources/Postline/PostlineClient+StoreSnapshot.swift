import Foundation
import Concurrency

/// Showing consistent snapshots of the store.
extension PostlineClient {
    /// A consistent view of the store, with all values that views can show.
    struct StoreSnapshot: Sendable {
        var me: Me?
        var conversations: [Conversation]
        var blockedUserIDs: [User.ID]
        var refused: [RefusedChange]
        var pendingChangeCount: Int
        var deviceData: [String: JSONValue]
        /// True if the list has come from the server at least once.
        var isListLoaded: Bool
        var chats: [Conversation.ID: (window: ChatWindow, content: ChatContent)]
    }

    nonisolated static func snapshot(
        _ reader: StoreReader, chats: [Conversation.ID: ChatWindow], isLive: Bool
    ) throws -> StoreSnapshot {
        let me = try reader.me()
        let changes = try reader.changes()
        let conversations = try reader.conversations(me: me, isLive: isLive)
        return StoreSnapshot(
            me: me, conversations: conversations, blockedUserIDs: try reader.blockedUserIDs(),
            refused: changes.compactMap(RefusedChange.init),
            pendingChangeCount: changes.count { $0.refusal == nil }, deviceData: try reader.deviceData(),
            isListLoaded: try !conversations.isEmpty || reader.hasSynced,
            chats: try chats.reduce(into: [:]) { found, chat in
                found[chat.key] = (chat.value, try reader.content(of: chat.value, in: chat.key, me: me))
            })
    }

    func snapshot(of store: Store) throws -> StoreSnapshot {
        try store.readNow { try Self.snapshot($0, chats: openChats(), isLive: state == .live) }
    }

    func openChats() -> [Conversation.ID: ChatWindow] {
        chats = chats.filter { $0.value.chat != nil }
        return chats.compactMapValues { $0.chat?.window }
    }

    /// Reads from the store, off the main actor.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    func read<Value: Sendable>(
        _ body: @Sendable (StoreReader) throws -> Value
    ) async throws(PostlineError) -> Value {
        let store = try currentStore()
        return try await convertingErrors { try await store.read(body) }
    }

    /// Shows the newest state of the store. All values change in one turn of the main actor, so that no two views
    /// disagree.
    ///
    /// When it returns, all earlier writes are shown.
    func reload() async {
        isStale = true
        // Only one caller reloads at a time. The next one is the first to resume.
        while await withSuspension({ waiter -> Suspension<Bool> in
            guard isReloading else {
                isReloading = true
                return .resume(false)
            }
            reloadWaiters.append(waiter)
            return .suspend
        }) {}
        defer {
            isReloading = false
            for waiter in reloadWaiters { waiter.resume(returning: true) }
            reloadWaiters = []
        }
        while isStale, let store {
            isStale = false
            do {
                let chats = openChats()
                let isLive = state == .live
                let snapshot = try await store.read { try Self.snapshot($0, chats: chats, isLive: isLive) }
                guard store === self.store else { continue }
                show(snapshot)
                if storeError != nil { storeError = nil }
            } catch {
                guard store === self.store else { continue }
                // The next change triggers another read, and so does each ping of the server.
                let failure = PostlineError(.storeUnusable, "The store \(store.url.path) cannot be read: \(error)")
                storeError = failure
                for chat in chats.values.compactMap(\.chat) where !chat.isRead { chat.loadingState = .failed(failure) }
                if Store.isDamaged(error) { await engine?.stop(afterStoreError: error) }
            }
        }
    }

    func show(_ snapshot: StoreSnapshot) {
        // Setting an equal value would redraw the views that observe it.
        if me != snapshot.me { me = snapshot.me }
        if conversations != snapshot.conversations { conversations = snapshot.conversations }
        if blockedUserIDs != snapshot.blockedUserIDs { blockedUserIDs = snapshot.blockedUserIDs }
        if refusedChanges != snapshot.refused { refusedChanges = snapshot.refused }
        if pendingChangeCount != snapshot.pendingChangeCount { pendingChangeCount = snapshot.pendingChangeCount }
        if deviceData != snapshot.deviceData { deviceData = snapshot.deviceData }
        if isListLoaded != snapshot.isListLoaded { isListLoaded = snapshot.isListLoaded }
        for (id, shown) in snapshot.chats {
            chats[id]?.chat?.show(
                shown.content, of: shown.window, in: snapshot.conversations.first { $0.id == id })
        }
    }

    func show(signedOutBecause error: PostlineError?) {
        (store, engine, engineTask) = (nil, nil, nil)
        (account, me, conversations, refusedChanges, pendingChangeCount) = (.signedOut, nil, [], [], 0)
        (blockedUserIDs, deviceData, uploadProgress) = ([], [:], [:])
        typingUserIDs = [:]
        (storeError, connectionError) = (nil, nil)
        (isListLoaded, refreshState) = (true, .idle)
        for chat in chats.values.compactMap(\.chat) {
            chat.hasEnded = true
            chat.showSignedOut()
        }
        chats = [:]
        state = .signedOut(error)
    }

    /// Returns the messages of a conversation, current while the app holds the chat. The same conversation has the same
    /// object. It is empty if the user is not a member.
    ///
    /// It can be called in a view's body: it only starts the read of the messages, off the main actor. Until they are
    /// shown, ``Chat/loadingState`` is loading.
    public func chat(with conversationID: Conversation.ID) -> Chat {
        if let chat = chats[conversationID]?.chat { return chat }
        let chat = Chat(conversations.first { $0.id == conversationID }, id: conversationID, client: self)
        chats[conversationID] = WeakChat(chat: chat)
        if store == nil { chat.showSignedOut() } else { chatOpened.yield() }
        return chat
    }

    struct WeakChat {
        weak var chat: Chat?
    }
}
