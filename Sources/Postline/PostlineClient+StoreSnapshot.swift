import Foundation
import Concurrency

/// Showing consistent snapshots of the store.
extension PostlineClient {
    /// A consistent view of the store, with all values that views can show.
    struct StoreSnapshot: Sendable {
        var me: Me?
        var conversations: [Conversation]
        var refused: [RefusedChange]
        var pendingChangeCount: Int
        var deviceData: [String: JSONValue]
        var chats: [Conversation.ID: (messages: [Message], hasOlder: Bool)]
    }

    nonisolated static func snapshot(
        _ reader: StoreReader, chats: [Conversation.ID: Int], isLive: Bool
    ) throws -> StoreSnapshot {
        let me = try reader.me()
        let changes = try reader.changes()
        return StoreSnapshot(
            me: me, conversations: try reader.conversations(me: me, isLive: isLive),
            refused: changes.compactMap(RefusedChange.init),
            pendingChangeCount: changes.count { $0.refusal == nil }, deviceData: try reader.deviceData(),
            chats: try chats.reduce(into: [:]) { found, chat in
                found[chat.key] = try reader.messages(chat.key, limit: chat.value, me: me)
            })
    }

    func snapshot(of store: Store) throws -> StoreSnapshot {
        try store.readNow { try Self.snapshot($0, chats: openChats(), isLive: state == .live) }
    }

    func openChats() -> [Conversation.ID: Int] {
        chats = chats.filter { $0.value.chat != nil }
        return chats.compactMapValues { $0.chat?.limit }
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
                // The next change triggers another read, and so does each ping of the server.
                storeError = PostlineError(.storeUnusable, "The store \(store.url.path) cannot be read: \(error)")
                if Store.isDamaged(error) { await engine?.stop(afterStoreError: error) }
            }
        }
    }

    func show(_ snapshot: StoreSnapshot) {
        // Setting an equal value would redraw the views that observe it.
        if me != snapshot.me { me = snapshot.me }
        if conversations != snapshot.conversations { conversations = snapshot.conversations }
        if refusedChanges != snapshot.refused { refusedChanges = snapshot.refused }
        if pendingChangeCount != snapshot.pendingChangeCount { pendingChangeCount = snapshot.pendingChangeCount }
        if deviceData != snapshot.deviceData { deviceData = snapshot.deviceData }
        for (id, shown) in snapshot.chats {
            chats[id]?.chat?.show(
                shown.messages, hasOlder: shown.hasOlder, in: snapshot.conversations.first { $0.id == id })
        }
    }

    func show(signedOutBecause error: PostlineError?) {
        (store, engine, engineTask) = (nil, nil, nil)
        (account, me, conversations, refusedChanges, pendingChangeCount) = (.signedOut, nil, [], [], 0)
        (deviceData, uploadProgress) = ([:], [:])
        typingUserIDs = [:]
        (storeError, connectionError) = (nil, nil)
        for chat in chats.values { chat.chat?.show([], hasOlder: false, in: nil) }
        chats = [:]
        state = .signedOut(error)
    }

    /// Returns the messages of a conversation, current while the app holds the chat. The same conversation has the same
    /// object. It is empty if the user is not a member.
    public func chat(with conversationID: Conversation.ID) -> Chat {
        if let chat = chats[conversationID]?.chat { return chat }
        let chat = Chat(conversationID: conversationID, client: self)
        chats[conversationID] = WeakChat(chat: chat)
        if let store, let shown = try? snapshot(of: store) { show(shown) }
        return chat
    }

    struct WeakChat {
        weak var chat: Chat?
    }
}
