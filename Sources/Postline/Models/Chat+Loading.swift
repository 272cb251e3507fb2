import Foundation

/// Loading parts of the conversation.
extension Chat {
    /// The first message that was unread when the chat opened, or nil if there is none or it is not shown. A view draws
    /// its divider above it.
    public var firstUnreadID: Message.ID? {
        firstUnreadSeq.flatMap { seq in messages.first { $0.seq == seq }?.id }
    }

    /// Moves the unread divider to the first message that is unread now, or removes it. Call it when the user returns
    /// to a chat that stayed open, as with the app in the background.
    public func resetFirstUnread() {
        (firstUnreadSeq, isFirstUnreadFixed) = (nil, false)
        fixFirstUnread()
    }

    /// Reads the messages from the device, and returns when they are shown. A chat does so by itself when it opens;
    /// call it to wait for that, or to try again after an error.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    public func load() async throws(PostlineError) {
        let client = try currentClient()
        await client.reload()
        if let error = client.storeError { throw error }
    }

    /// Shows a message with those around it, from the device or else from the server. An unsent message is among the
    /// newest.
    ///
    /// - Throws: ``PostlineError``: `not_found` with the field `id` if the device does not have the message;
    ///   `signed_out`, `store_unusable`.
    public func jump(to id: Message.ID) async throws(PostlineError) {
        let conversationID = conversationID
        let seq: Int?
        if let message = messages.first(where: { $0.id == id }) {
            seq = message.seq
        } else if let found = try await currentClient().read({ try $0.seq(of: id, in: conversationID) }) {
            seq = found
        } else if try await currentClient().read({ try $0.isPending(id, in: conversationID) }) {
            seq = nil
        } else {
            throw PostlineError(.notFound, "The device does not have the message \(id).", field: "id")
        }
        guard let seq else { return await jumpToNewest() }
        try await jump(toSeq: seq)
    }

    /// Shows a message by its number with 25 messages before and after it, from the device or else from the server.
    ///
    /// If the device has the message, it is shown without a connection. ``olderState`` and ``newerState`` then say if a
    /// page beside it is missing. After an error the chat shows the same messages as before.
    ///
    /// - Parameter seq: A number from 1 to the conversation's ``Conversation/lastSeq``.
    /// - Throws: ``PostlineError``: `not_found` with the field `seq` for another number, or if the server does not have
    ///   the message; `offline` if the device does not have it and there is no connection; `signed_out`,
    ///   `store_unusable`.
    public func jump(toSeq seq: Int) async throws(PostlineError) {
        try await jump(to: .around(seq: seq, older: ChatWindow.page / 2, newer: ChatWindow.page / 2), seq)
    }

    /// Shows the newest messages.
    public func jumpToNewest() async {
        beginJump()
        (window, failedJump) = (.newest(limit: ChatWindow.page), nil)
        await client.reload()
        if isRead { loadingState = .idle }
    }

    /// Shows 50 older messages, from the device or else from the server. Does nothing if there are none, or while
    /// ``olderState`` is loading. Beyond ``maxMessages`` the newest ones are no longer shown, and ``hasNewer`` is true.
    ///
    /// - Throws: ``PostlineError``: `offline` if the device does not have them and there is no connection;
    ///   `signed_out`, `store_unusable`.
    public func loadOlder() async throws(PostlineError) {
        if !isRead { try await load() }
        if hasOlder { try await extend(.older, \.olderState) }
    }

    /// Shows 50 newer messages, from the device or else from the server. Does nothing if there are none, or while
    /// ``newerState`` is loading. Beyond ``maxMessages`` the oldest ones are no longer shown.
    ///
    /// - Throws: ``PostlineError``: `offline` if the device does not have them and there is no connection;
    ///   `signed_out`, `store_unusable`.
    public func loadNewer() async throws(PostlineError) {
        if !isRead { try await load() }
        if hasNewer { try await extend(.newer, \.newerState) }
    }

    /// Repeats what failed last: the first read or the jump, and the pages before and after the shown messages.
    ///
    /// - Throws: ``PostlineError``: the error of the first one that fails again.
    public func retry() async throws(PostlineError) {
        if case .around(let seq, _, _)? = failedJump {
            try await jump(toSeq: seq)
        } else if case .failed = loadingState {
            try await load()
        }
        if case .failed = olderState { try await loadOlder() }
        if case .failed = newerState { try await loadNewer() }
    }

    /// Shows the content of a window, unless the chat has moved to another one.
    func show(_ content: ChatContent, of requested: ChatWindow, in conversation: Conversation?) {
        guard requested == window else { return }
        window = content.window
        if messages != content.messages { messages = content.messages }
        if hasOlder != content.hasOlder { hasOlder = content.hasOlder }
        if hasNewer != content.hasNewer { hasNewer = content.hasNewer }
        if self.conversation != conversation { self.conversation = conversation }
        fixFirstUnread()
        guard !isRead else { return }
        isRead = true
        if failedJump == nil { loadingState = .idle }
    }

    /// Shows that the chat's user has signed out.
    func showSignedOut() {
        beginJump()
        (window, failedJump, loadingState) = (.newest(limit: ChatWindow.page), nil, .idle)
        show(ChatContent(window: window), of: window, in: nil)
    }

    private func fixFirstUnread() {
        guard !isFirstUnreadFixed, let conversation else { return }
        if conversation.unreadCount > 0 { firstUnreadSeq = conversation.lastReadSeq + 1 }
        isFirstUnreadFixed = firstUnreadSeq != nil || client.state == .live
    }

    private func beginJump() {
        jumpCount += 1
        (olderState, newerState) = (.idle, .idle)
    }

    private func jump(to target: ChatWindow, _ seq: Int) async throws(PostlineError) {
        beginJump()
        let jump = jumpCount
        let id = conversationID
        loadingState = .loading
        do throws(PostlineError) {
            guard 1...max(1, conversation?.lastSeq ?? 0) ~= seq else {
                throw PostlineError(.notFound, "The conversation has no message with the number \(seq).", field: "seq")
            }
            let missing = try await currentClient().read { try $0.missingPages(of: target, in: id) }
            let isStored = try await currentClient().read { try $0.isStored(seq, in: id) }
            if !isStored {
                try await fetch(missing)
                guard try await currentClient().read({ try $0.isStored(seq, in: id) }) else {
                    throw PostlineError(.notFound, "The server does not have the message \(seq).", field: "seq")
                }
            }
            guard jump == jumpCount else { return }
            (window, failedJump) = (target, nil)
            await client.reload()
            guard jump == jumpCount else { return }
            loadingState = .idle
            if isStored { await fill(missing, jump) }
        } catch {
            if jump == jumpCount { (loadingState, failedJump) = (LoadingState(error), target) }
            throw error
        }
    }

    /// Fetches the pages beside the message of a jump. The jump itself has succeeded.
    private func fill(_ pages: [MissingPage], _ jump: Int) async {
        for page in pages {
            let state: ReferenceWritableKeyPath<Chat, LoadingState> =
                page.direction == .older ? \.olderState : \.newerState
            self[keyPath: state] = .loading
            let result: LoadingState
            do {
                try await fetch([page])
                await client.reload()
                result = .idle
            } catch {
                result = LoadingState(error)
            }
            guard jump == jumpCount else { return }
            self[keyPath: state] = result
        }
    }

    private func extend(
        _ direction: ChatWindow.Direction, _ state: ReferenceWritableKeyPath<Chat, LoadingState>
    ) async throws(PostlineError) {
        guard self[keyPath: state] != .loading else { return }
        self[keyPath: state] = .loading
        let jump = jumpCount
        let id = conversationID
        let target = extendedWindow(direction)
        do throws(PostlineError) {
            let missing = try await currentClient().read { try $0.missingPages(of: target, in: id) }
            try await fetch(missing.filter { $0.direction == direction })
            guard jump == jumpCount else { return }
            window = extendedWindow(direction)
            await client.reload()
            if jump == jumpCount { self[keyPath: state] = .idle }
        } catch {
            if jump == jumpCount { self[keyPath: state] = LoadingState(error) }
            throw error
        }
    }

    private func extendedWindow(_ direction: ChatWindow.Direction) -> ChatWindow {
        let seqs = messages.lazy.compactMap(\.seq)
        var shown: ClosedRange<Int>?
        if let first = seqs.first, let last = messages.last(where: { $0.seq != nil })?.seq { shown = first...last }
        return window.extended(direction, showing: shown, limit: maxMessages)
    }

    /// Fetches pages from the server, and stores them together.
    private func fetch(_ pages: [MissingPage]) async throws(PostlineError) {
        guard !pages.isEmpty else { return }
        let engine = try currentClient().currentEngine()
        let id = conversationID
        var changes = Changes()
        try await convertingErrors {
            changes = try await withThrowingTaskGroup(of: MessagePage.self) { group in
                for page in pages {
                    group.addTask { try await engine.call("messages.list", page.params(id)) }
                }
                var changes = Changes()
                while let page = try await group.next() { changes.take(page) }
                return changes
            }
            try await engine.apply(changes)
        }
    }
}
