import Concurrency

/// A store that several processes use. Only the one with the connection's lock syncs and sends the outbox. The others
/// read and write the store, and request fetches by it.
extension SyncEngine {
    /// The interval at which a process looks for changes of the others.
    static let sharedPollInterval = Duration.milliseconds(250)

    /// A request to the process with the connection to fetch all changes.
    struct FetchRequest {
        var number: Int
        var sentAt = ContinuousClock.now
        /// The fetches and refreshes of this process that wait for it.
        var fetchIDs: Set<Int>
        var refreshWaiters: [CheckedContinuation<Bool, Never>]
    }

    /// Returns true if this process may connect: it has the lock, or no other process uses the store.
    func takeConnection() -> Bool { connectionLock?.tryLock() ?? true }

    /// Lets another process connect.
    func releaseConnection() {
        connectionLock?.unlock()
        for waiter in releaseWaiters { waiter.resume() }
        releaseWaiters = []
    }

    /// Waits until a process in the background has no lock, with which the system would end a suspended process.
    func waitUntilReleased() async {
        await withSuspension { waiter -> Suspension<Void> in
            guard connectionLock?.isHeld == true, isInBackground, fetchWaiters.isEmpty, !hasEnded else {
                return .resume(())
            }
            releaseWaiters.append(waiter)
            return .suspend
        }
    }

    /// Uses the connection of another process until it ends, or until there is nothing to do in the background.
    ///
    /// - Throws: ``PostlineError`` that ends the session, and errors of the store.
    func follow() async throws {
        isFollowing = true
        defer {
            isFollowing = false
            refreshWaiters += fetchRequest?.refreshWaiters ?? []
            fetchRequest = nil
        }
        var state: ConnectionState?
        while !Task.isCancelled, !(isInBackground && fetchWaiters.isEmpty), !takeConnection() {
            if !isInBackground {
                let current = connectionLock?.isMarked == true ? ConnectionState.live : .connecting
                if state != current { report(.state(current)) }
                state = current
            }
            if isInBackground || connectionWaiters.isEmpty {
                try await requestFetches()
                await connectSignal.wait(atMost: Self.sharedPollInterval)
            } else {
                do {
                    try await runRequestConnection()
                } catch let error as PostlineError where !Self.endsSession(error) {
                    report(.connectionFailed(error))
                    resumeConnectionWaiters(with: nil)
                }
            }
        }
    }

    /// Runs a connection for calls only, until it has been idle for some seconds or this process may go live.
    private func runRequestConnection() async throws {
        let connection = try await LineConnection.connect(to: server, by: connector)
        self.connection = connection
        defer {
            (self.connection, isReady) = (nil, false)
            connection.close()
        }
        try await withTaskCancellationHandler {
            let end = try await ContinuousClock.now + keeper.authenticate(connection) * 0.8
            isReady = true
            lastCall = .now
            resumeConnectionWaiters(with: connection)
            while !Task.isCancelled, !isInBackground {
                try await requestFetches()
                await connectSignal.wait(atMost: Self.sharedPollInterval)
                if await connection.isIdle, !isReady || ContinuousClock.now - lastCall > .seconds(5) { return }
                // Later calls wait for the next connection, which has a renewed token.
                if await connection.isClosed || .now > end || takeConnection() { isReady = false }
            }
        } onCancel: {
            connection.close()
        }
    }

    /// Requests a fetch for the tasks that wait for one, or resumes them after the answer.
    private func requestFetches() async throws {
        guard var request = fetchRequest else {
            guard !fetchWaiters.isEmpty || !refreshWaiters.isEmpty else { return }
            let (ids, waiters) = (Set(fetchWaiters.keys), refreshWaiters)
            refreshWaiters = []
            fetchRequest = FetchRequest(number: .max, fetchIDs: ids, refreshWaiters: waiters)
            let number = try await store.write(isDurable: false) { try $0.requestFetch() }
            fetchRequest?.number = number
            return
        }
        let (answer, isSent) = try await store.read { reader in
            (try reader.lastFetchAnswer, try reader.pendingQueues().isEmpty)
        }
        let isAnswered = answer >= request.number
        if isAnswered || ContinuousClock.now - request.sentAt > .seconds(10) {
            for waiter in request.refreshWaiters { waiter.resume(returning: isAnswered) }
            request.refreshWaiters = []
        }
        request.fetchIDs.formIntersection(fetchWaiters.keys)
        if isAnswered {
            // The other process sends the outbox too.
            let done = isSent ? request.fetchIDs : request.fetchIDs.subtracting(sendingFetches)
            resumeFetchWaiters(true, of: done)
            request.fetchIDs.subtract(done)
        }
        fetchRequest = request.fetchIDs.isEmpty && request.refreshWaiters.isEmpty ? nil : request
    }

    /// Sends and fetches for other processes, which have changed the store.
    func storeDidChangeElsewhere() {
        outboxSignal.signal()
        refreshSignal.signal()
    }
}
