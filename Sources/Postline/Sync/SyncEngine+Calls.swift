import Concurrency

/// Calls from the app.
extension SyncEngine {
    /// Disconnects in the background, and connects again in the foreground.
    func setInBackground(_ isInBackground: Bool) async {
        self.isInBackground = isInBackground
        if isInBackground {
            isLive = false
            connection?.close()
            // A connection that is being opened is not used.
            if connection == nil, fetchWaiters.isEmpty { releaseConnection() }
            resumeConnectionWaiters(with: nil)
        } else {
            fetchStopSignal.signal()
        }
        connectSignal.signal()
        await waitUntilReleased()
    }

    /// Calls a method on the current connection, or on the one that is being opened.
    ///
    /// - Throws: ``PostlineError``: the server's error, or `offline`.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: some Encodable & Sendable, as type: Answer.Type = Answer.self
    ) async throws(PostlineError) -> Answer {
        try await readyConnection().call(method, params)
    }

    /// Returns an access token that is valid for a while.
    ///
    /// - Throws: ``PostlineError``: the server's error, or `offline`.
    func accessToken() async throws -> AccessToken {
        if let token = await keeper.validAccessToken() { return token }
        let connection = try await readyConnection()
        do {
            return try await keeper.accessToken(connection)
        } catch let error as PostlineError where Self.endsSession(error) {
            // The next connection signs the user out.
            connection.close()
            throw error
        }
    }

    /// Turns the guest into an account. The connection continues with the account's tokens.
    func upgrade(_ params: [String: JSONValue]) async throws -> Tokens {
        let connection = try await readyConnection()
        return try await keeper.locks.lockingSession {
            let tokens: Tokens = try await connection.call("auth.upgrade", params)
            try await keeper.update(tokens)
            return tokens
        }
    }

    /// Waits until the outbox has no pending changes, at most for `limit`.
    func drainOutbox(atMost limit: Duration) async throws {
        let end = ContinuousClock.now + limit
        while isReady, ContinuousClock.now < end, try await !store.read({ try $0.pendingQueues().isEmpty }) {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func readyConnection() async throws(PostlineError) -> LineConnection {
        if connection == nil { connectSignal.signal() }
        lastCall = .now
        let ready = await withSuspension { waiter -> Suspension<LineConnection?> in
            if hasEnded || isInBackground { return .resume(nil) }
            if isReady { return .resume(connection) }
            connectionWaiters.append(waiter)
            return .suspend
        }
        guard let connection = ready else {
            throw PostlineError(.offline, "There is no connection to the server.", isRetryable: true)
        }
        return connection
    }

    func resumeConnectionWaiters(with connection: LineConnection?) {
        for waiter in connectionWaiters { waiter.resume(returning: connection) }
        connectionWaiters = []
    }
}
