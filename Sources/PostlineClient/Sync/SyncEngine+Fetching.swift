import Threads

/// What is fetched because a push came, also while nobody sees the app. It is a turn of the run loop: nothing else asks for
/// what is new at the same time.
extension SyncEngine {
    /// Waits until all that the server has now is here, and for so long at most. Where nobody sees the app it is fetched
    /// without being live: nobody is told that the user is here.
    ///
    /// - Returns: whether it is.
    func fetch(within limit: Duration) async -> Bool {
        lastFetch += 1
        let id = lastFetch
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.waitForFetch(id) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return false
            }
            let isHere = await group.next() ?? false
            group.cancelAll()
            resumeFetchWaiters(false, of: [id])
            if fetchWaiters.isEmpty { fetchStopSignal.signal() }
            return isHere
        }
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

    /// Lets those go on who wait for what is here now, or will not be; nil: all of them.
    func resumeFetchWaiters(_ isHere: Bool, of ids: Set<Int>? = nil) {
        for id in ids ?? Set(fetchWaiters.keys) { fetchWaiters.removeValue(forKey: id)?.resume(returning: isHere) }
    }

    /// Fetches what is new on a connection of its own, for as long as somebody waits for it and nobody sees the app.
    ///
    /// - Throws: ``PostlineError``.
    func fetchInBackground() async throws {
        // Whoever comes later may wait for what this does not find.
        let ids = Set(fetchWaiters.keys)
        defer { resumeFetchWaiters(false, of: isInBackground ? ids : []) }
        fetchStopSignal.reset()
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.fetchAll() }
            group.addTask { [fetchStopSignal] in
                await fetchStopSignal.wait()
                return false
            }
            if try await group.next() == true { resumeFetchWaiters(true, of: ids) }
            group.cancelAll()
        }
    }

    /// Waits until all that the server has now is in the store. Pushes alone do not tell: they may be on their way.
    ///
    /// - Returns: whether it is; false if there is no connection, or it was lost.
    func refresh() async -> Bool {
        await withSuspension { waiter -> Suspension<Bool> in
            if hasEnded || isInBackground { return .resume(false) }
            refreshWaiters.append(waiter)
            refreshSignal.signal()
            connectSignal.signal()
            return .suspend
        }
    }

    /// Fetches what is new whenever somebody asks for it, until the connection ends.
    ///
    /// It belongs to the connection and not to the task that asks: a sync that was cut off would leave the connection
    /// without pushes.
    func runRefreshLoop(_ connection: LineConnection) async {
        while true {
            await refreshSignal.wait()
            if Task.isCancelled { return }
            let waiters = refreshWaiters
            refreshWaiters = []
            if waiters.isEmpty { continue }
            var isHere = false
            defer { for waiter in waiters { waiter.resume(returning: isHere) } }
            do {
                try await catchUp(connection)
                isHere = true
            } catch {
                if !(error is PostlineError) { storeDidFail(error) }
                return connection.close()
            }
        }
    }

    /// Lets those go on who wait for a refresh.
    func resumeRefreshWaiters(_ isHere: Bool) {
        for waiter in refreshWaiters { waiter.resume(returning: isHere) }
        refreshWaiters = []
    }

    private func fetchAll() async throws -> Bool {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer { connection.close() }
        try await withTaskCancellationHandler {
            _ = try await keeper.authenticate(connection)
            try await catchUp(connection, isLive: false)
        } onCancel: {
            connection.close()
        }
        return true
    }
}
