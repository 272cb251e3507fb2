import Foundation
import Threads

/// What is shown: one state of the store at a time.
extension PostlineClient {
    /// One state of the store, of all that is on the screen.
    struct Snapshot: Sendable {
        var me: Me?
        var conversations: [Conversation]
        var refused: [RefusedChange]
        var pendingChangeCount: Int
        var deviceData: [String: JSONValue]
        var chats: [String: (messages: [Message], hasOlder: Bool)]
    }

    nonisolated static func snapshot(
        _ reader: StoreReader, chats: [String: Int], isLive: Bool
    ) throws -> Snapshot {
        let me = try reader.me()
        let changes = try reader.changes()
        return Snapshot(
            me: me, conversations: try reader.conversations(me: me, isLive: isLive),
            refused: changes.compactMap(RefusedChange.init),
            pendingChangeCount: changes.count { $0.refusal == nil }, deviceData: try reader.deviceData(),
            chats: try chats.reduce(into: [:]) { found, chat in
                found[chat.key] = try reader.messages(chat.key, limit: chat.value, me: me)
            })
    }

    func snapshot(of store: Store) throws -> Snapshot {
        try store.readNow { try Self.snapshot($0, chats: openChats(), isLive: state == .live) }
    }

    func openChats() -> [String: Int] {
        chats = chats.filter { $0.value.chat != nil }
        return chats.compactMapValues { $0.chat?.limit }
    }

    /// Shows the store's newest state: everything that changes changes in one turn, so that no two views disagree.
    ///
    /// When it returns, all that was written before is shown.
    func reload() async {
        isStale = true
        // Whoever is at it lets the others go on, and the first of them is at it then.
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
                // It is read again with the next change, and the server's pings are such.
                storeError = PostlineError(.storeUnusable, "The store \(store.url.path) cannot be read: \(error)")
                if Store.isDamaged(error) { await engine?.stop(afterStoreError: error) }
            }
        }
    }

    func show(_ snapshot: Snapshot) {
        // What is the same is not set, so that nobody who watches it draws anew.
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
        (store, engine, work) = (nil, nil, nil)
        (account, me, conversations, refusedChanges, pendingChangeCount) = (.nobody, nil, [], [], 0)
        deviceData = [:]
        typingUserIDs = [:]
        (storeError, connectionError) = (nil, nil)
        for chat in chats.values { chat.chat?.show([], hasOlder: false, in: nil) }
        chats = [:]
        state = .signedOut(error)
    }

    /// The messages of a conversation, kept up to date for as long as somebody holds the chat. The same object for all who
    /// ask for the same conversation; empty where the user is not in it.
    public func chat(with conversationID: String) -> Chat {
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
