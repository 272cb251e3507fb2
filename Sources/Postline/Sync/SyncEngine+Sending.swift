import Foundations

/// Sending the outbox, with two queues for each conversation and one for the user's own data.
extension SyncEngine {
    /// Sends pending changes until the task ends. Queues are sent concurrently, the changes of a queue in order.
    func sendOutbox(_ connection: LineConnection) async {
        await withTaskGroup(of: OutboxQueue?.self) { group in
            var busy: Set<OutboxQueue> = []
            group.addTask { [outboxSignal] in
                await outboxSignal.wait()
                return nil
            }
            while let ended = await group.next(), !Task.isCancelled {
                if let ended {
                    busy.remove(ended)
                } else {
                    group.addTask { [outboxSignal] in
                        await outboxSignal.wait()
                        return nil
                    }
                }
                try? await endDiscardedUploads()
                let queues = (try? await store.read { try $0.pendingQueues() }) ?? []
                for queue in queues where busy.count < 16 && busy.insert(queue).inserted {
                    group.addTask {
                        await self.sendQueue(queue, connection)
                        return queue
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Sends the pending changes of one queue. A refused change stays in the outbox and does not block the next.
    func sendQueue(_ queue: OutboxQueue, _ connection: LineConnection) async {
        var backoff = Backoff.reconnect
        while !Task.isCancelled {
            do {
                guard let change = try await store.read({ try $0.nextChange(of: queue) }) else { return }
                do {
                    let answer = try await perform(change, connection)
                    try await store.write { writer in
                        try writer.apply(answer)
                        // What the server tells of it may come after the response.
                        if [.send, .sendFiles, .markRead].contains(change.method), let id = change.conversationID {
                            try writer.endUnreadMark(of: id)
                        }
                        try writer.remove(change)
                    }
                    storeDidChange()
                    backoff.reset()
                } catch let error as PostlineError {
                    if error.isUncertain { return }
                    if [.unauthenticated, .tokenExpired, .sessionRevoked, .invalidToken].contains(error.code) {
                        return connection.close()
                    }
                    if [.rateLimited, .unavailable, .timeout].contains(error.code) {
                        let wait = backoff.next()
                        try await Task.sleep(for: error.retryAfter.map { .seconds(min(max($0, 0.5), 300)) } ?? wait)
                    } else {
                        try await store.write { try $0.setRefusal(of: change, to: error) }
                        storeDidChange()
                        report(.refused(change.id))
                    }
                }
            } catch is CancellationError {
                return
            } catch {
                // The next connection tries again.
                storeDidFail(error)
                return connection.close()
            }
        }
    }

    /// Sends a change and returns the objects of the response.
    func perform(_ change: QueuedChange, _ connection: LineConnection) async throws -> Changes {
        var changes = Changes()
        switch change.method {
        case .send:
            changes.messages = [
                try await connection.call(change.method.rawValue, change.params.withoutUploadedURLs)
            ]
        case .sendFiles: changes.messages = try await sendFiles(change, connection).map { [$0] } ?? []
        case .edit, .delete:
            changes.messages = [try await connection.call(change.method.rawValue, change.params)]
        case .react: changes.reactions = [try await connection.call(change.method.rawValue, change.params)]
        case .pin, .set: changes.conversations = [try await connection.call(change.method.rawValue, change.params)]
        case .markRead: changes.reads = [try await connection.call(change.method.rawValue, change.params)]
        case .save: changes.me = try await connection.call(change.method.rawValue, change.params)
        case .fill:
            // The sync is complete before the outbox is sent, so the current values are known.
            let me = try await store.read { try $0.serverMe() }
            let missing = try me.map { try ProfileEdit.filling(change.params, in: $0) } ?? change.params
            if !missing.isEmpty {
                changes.me = try await connection.call(QueuedChange.Method.save.rawValue, missing)
            }
        }
        return changes
    }
}
