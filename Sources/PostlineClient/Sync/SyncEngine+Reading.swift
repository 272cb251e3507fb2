import Logging

/// What comes: the world since the cursor, and then each change.
extension SyncEngine {
    struct SyncParams: Encodable {
        var cursor: String?
        var live: Bool
    }

    /// Fetches what has changed since the store's cursor, page by page, and goes live.
    func catchUp(_ connection: LineConnection, isLive: Bool = true) async throws {
        var cursor = try await store.read { try $0.cursor }
        while true {
            let page: Changes = try await connection.call("sync.open", SyncParams(cursor: cursor, live: isLive))
            try await apply(page)
            guard page.more else {
                // Who they share a conversation with may have come with any page.
                return try await store.write(isDurable: false) { try $0.pruneUnreferencedPresence() }
            }
            guard let next = page.cursor, next != cursor else {
                throw PostlineError(.malformedAnswer, "The server says that there is more, and not where.")
            }
            cursor = next
        }
    }

    func apply(_ changes: Changes) async throws {
        guard changes.hasValidNumbers else {
            throw PostlineError(.malformedAnswer, "The server counts messages as nobody can.")
        }
        try await store.write(isDurable: false) { try $0.apply(changes) }
        storeDidChange()
    }

    /// Takes in what is pushed, until the connection ends.
    func runPushLoop(_ connection: LineConnection) async {
        do {
            for await push in connection.pushes {
                await connection.didReadPush()
                switch push {
                case .changes(let changes):
                    try await apply(changes)
                    // Whoever has sent types no more.
                    for message in changes.messages where message.version == 1 {
                        report(
                            .typing(
                                WireTyping(
                                    conversationID: message.conversationID, userID: message.senderID, isTyping: false)))
                    }
                case .typing(let notice): report(.typing(notice))
                case .lagged:
                    report(.state(.catchingUp))
                    isLive = false
                    try await catchUp(connection)
                    isLive = true
                    resumeFetchWaiters(true)
                    report(.state(.live))
                case .ping(let cursor):
                    guard let cursor else { break }
                    var changes = Changes()
                    changes.cursor = cursor
                    try await apply(changes)
                }
            }
        } catch is PostlineError {
            // The connection's end, which whoever waits for this sees.
        } catch {
            // What could not be stored is not passed over: the next connection asks for it again, from the cursor that is.
            storeDidFail(error)
        }
    }

    /// Looks whether the connection still goes, whenever there is reason to ask: one over a network that is gone closes.
    func runProbeLoop(_ connection: LineConnection) async {
        while true {
            await connectSignal.wait()
            if Task.isCancelled { return }
            await connection.probe()
        }
    }

    /// Renews the access token well before its time is over, and tries again until it is.
    func runTokenRenewalLoop(_ connection: LineConnection, _ lifetime: Duration) async {
        var lifetime = lifetime
        while true {
            do {
                try await Task.sleep(for: lifetime * 0.8)
                lifetime = try await keeper.renew(connection)
            } catch is CancellationError {
                return
            } catch {
                logger.debug("the token cannot be renewed", metadata: ["error": "\(error)"])
                if let error = error as? PostlineError, Self.endsSession(error) { return connection.close() }
                lifetime = .seconds(5)
            }
            if Task.isCancelled { return }
        }
    }
}
