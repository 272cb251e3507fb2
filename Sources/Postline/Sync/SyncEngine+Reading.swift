import Logging

/// Receiving changes: the sync since the cursor, and then the pushes.
extension SyncEngine {
    struct SyncParams: Encodable {
        var cursor: String?
        var live: Bool
    }

    /// Fetches the changes since the store's cursor page by page, and goes live.
    func catchUp(_ connection: LineConnection, isLive: Bool = true) async throws {
        var cursor = try await store.read { try $0.cursor }
        while true {
            let page: Changes = try await connection.call("sync.open", SyncParams(cursor: cursor, live: isLive))
            try await receive(page)
            guard page.more else {
                // The conversations of these users may have come with any page.
                return try await store.write(isDurable: false) { try $0.pruneUnreferencedPresence() }
            }
            guard let next = page.cursor, next != cursor else {
                throw PostlineError(.malformedAnswer, "The server announced another page without a new cursor.")
            }
            cursor = next
        }
    }

    func apply(_ changes: Changes) async throws {
        try changes.checkNumbers()
        try await store.write(isDurable: false) { try $0.apply(changes) }
        storeDidChange()
    }

    /// Applies changes of a sync or a push, and reports the messages of other users that are new to this one.
    private func receive(_ changes: Changes) async throws {
        try changes.checkNumbers()
        let received = try await store.write(isDurable: false) { [sharedID = store.sharedID] writer in
            let received = try writer.receive(changes)
            if let sharedID { try writer.recordArrival(of: received.messages, in: sharedID) }
            return received
        }
        storeDidChange()
        if !received.messages.isEmpty || !received.skipped.isEmpty { report(.received(received)) }
        if changes.messages.contains(where: { $0.senderID != store.userID }) { acknowledgementSignal.signal() }
    }

    /// Tells the server up to where the store has all changes, so that the senders of messages see that they arrived.
    /// Nothing is sent to a server that does not know of it.
    func acknowledge(_ connection: LineConnection) async {
        struct AcknowledgementParams: Encodable {
            var cursor: String
        }
        guard connection.hello.features?.contains("delivered") == true,
            let cursor = try? await store.read({ try $0.cursor })
        else { return }
        await connection.notify("sync.ack", AcknowledgementParams(cursor: cursor))
    }

    /// Acknowledges stored messages, at most once a second, until the task ends.
    func runAcknowledgementLoop(_ connection: LineConnection) async {
        while true {
            await acknowledgementSignal.wait()
            if Task.isCancelled { return }
            await acknowledge(connection)
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// Applies pushes until the connection ends.
    func runPushLoop(_ connection: LineConnection) async {
        do {
            for await push in connection.pushes {
                await connection.didReadPush()
                switch push {
                case .changes(let changes):
                    try await receive(changes)
                    // A user who has sent a message is no longer typing.
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
            // The connection has ended. The task that runs it handles this.
        } catch {
            // A change that could not be stored is not skipped: the next connection syncs from the stored cursor.
            storeDidFail(error)
        }
    }

    /// Checks the connection at each signal, and closes it if the network is gone.
    func runProbeLoop(_ connection: LineConnection) async {
        while true {
            await connectSignal.wait()
            if Task.isCancelled { return }
            await connection.probe()
        }
    }

    /// Renews the access token after 80 % of its lifetime, and retries every 5 s.
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
