import Concurrency

/// Fetches for pushes and refreshes. They run in the engine's loop, so that only one sync runs at a time.
extension SyncEngine {
    /// Waits until the store has all changes of the server, at most for `limit`. In the background it fetches them
    /// without going live, so that the user is not shown as online.
    ///
    /// - Parameter sending: True to wait until the pending changes are sent too.
    /// - Returns: True if the store has all changes.
    func fetch(within limit: Duration, sending: Bool = false) async -> Bool {
        lastFetchID += 1
        let id = lastFetchID
        if sending { sendingFetches.insert(id) }
        defer { sendingFetches.remove(id) }
        let isUpToDate = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                guard await self.waitForFetch(id) else { return false }
                if sending { try? await self.drainOutbox(atMost: limit) }
                return true
            }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            let isUpToDate = await group.next() ?? false
            group.cancelAll()
            resumeFetchWaiters(false, of: [id])
            if fetchWaiters.isEmpty { fetchStopSignal.signal() }
            return isUpToDate
        }
        await waitUntilReleased()
        return isUpToDate
    }

    private func waitForFetch(_ id: Int) async -> Bool {
        await withSuspension { waiter -> Suspension<Bool> in
            if isLive { return .resume(true) }
            if hasEnded || Task.isCancelled { return .resume(false) }
            fetchWaiters[id] = waiter
            connectSignal.signal()
            return .suspend
        }
    }

    /// Resumes the tasks that wait for a fetch. Nil resumes all of them.
    func resumeFetchWaiters(_ isUpToDate: Bool, of ids: Set<Int>? = nil) {
        for id in ids ?? Set(fetchWaiters.keys) { fetchWaiters.removeValue(forKey: id)?.resume(returning: isUpToDate) }
    }

    /// Fetches changes on a separate connection while the app is in the background, until no task waits for them.
    ///
    /// - Throws: ``PostlineError``.
    func fetchInBackground() async throws {
        // A task that begins to wait later may need changes that this fetch does not find.
        let ids = Set(fetchWaiters.keys)
        let isSending = !sendingFetches.isDisjoint(with: ids)
        defer { resumeFetchWaiters(false, of: isInBackground ? ids : []) }
        fetchStopSignal.reset()
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.fetchAll(sending: isSending) }
            group.addTask { [fetchStopSignal] in
                await fetchStopSignal.wait()
                return false
            }
            if try await group.next() == true { resumeFetchWaiters(true, of: ids) }
            group.cancelAll()
        }
    }

    /// Waits until the store has all changes that the server has now. Pushes alone do not tell, since they may be in
    /// flight.
    ///
    /// - Returns: True if the store has all changes, false if there is no connection or it was lost.
    func refresh() async -> Bool {
        await withSuspension { waiter -> Suspension<Bool> in
            if hasEnded || isInBackground { return .resume(false) }
            refreshWaiters.append(waiter)
            refreshSignal.signal()
            connectSignal.signal()
            return .suspend
        }
    }

    /// Fetches changes for each refresh, until the connection ends.
    ///
    /// The fetch belongs to the connection and not to the task that requested it, because a cancelled sync would leave
    /// the connection without pushes.
    func runRefreshLoop(_ connection: LineConnection) async {
        while true {
            await refreshSignal.wait()
            if Task.isCancelled { return }
            let waiters = refreshWaiters
            refreshWaiters = []
            var isUpToDate = false
            defer { for waiter in waiters { waiter.resume(returning: isUpToDate) } }
            do {
                // Other processes request fetches too.
                let (request, answer) = try await store.read { (try $0.lastFetchRequest, try $0.lastFetchAnswer) }
                if waiters.isEmpty, request == answer { continue }
                try await catchUp(connection)
                isUpToDate = true
                if request > answer { try await store.write(isDurable: false) { try $0.answerFetches(upTo: request) } }
            } catch {
                if !(error is PostlineError) { storeDidFail(error) }
                return connection.close()
            }
        }
    }

    /// Sends the changes that are pending now, and returns when each queue is empty or cannot be sent.
    private func sendPending(_ connection: LineConnection) async throws {
        let queues = try await store.read { try $0.pendingQueues() }
        await withTaskGroup(of: Void.self) { group in
            for (index, queue) in queues.enumerated() {
                // As many at a time as the outbox of a live connection sends.
                if index >= 16 { await group.next() }
                group.addTask { await self.sendQueue(queue, connection) }
            }
        }
    }

    /// Resumes the tasks that wait for a refresh.
    func resumeRefreshWaiters(_ isUpToDate: Bool) {
        for waiter in refreshWaiters { waiter.resume(returning: isUpToDate) }
        refreshWaiters = []
    }

    private func fetchAll(sending: Bool) async throws -> Bool {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        try await withTaskCancellationHandler {
            _ = try await keeper.authenticate(connection)
            try await catchUp(connection, isLive: false)
            // The messages of a device push are delivered, although the app is not opened.
            await acknowledge(connection)
            if sending { try await sendPending(connection) }
        } onCancel: {
            connection.close()
        }
        return true
    }
}
