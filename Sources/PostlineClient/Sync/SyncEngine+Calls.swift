import Threads

/// What the app asks for.
extension SyncEngine {
    /// Says that the outbox has got something.
    nonisolated func wakeOutbox() { outboxSignal.signal() }

    /// The app is not seen any more, or again.
    func setInBackground(_ isInBackground: Bool) {
        self.isInBackground = isInBackground
        if isInBackground {
            isLive = false
            connection?.close()
            resumeConnectionWaiters(with: nil)
        } else {
            fetchStopSignal.signal()
        }
        connectSignal.signal()
    }

    /// Calls a method on the connection that there is or is being made.
    ///
    /// - Throws: ``PostlineError``: the server's, or `offline`.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: some Encodable & Sendable, as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await readyConnection().call(method, params)
    }

    /// Returns an access token that is good for a while.
    ///
    /// - Throws: ``PostlineError``: the server's, or `offline`.
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

    /// Makes the guest an account, whose tokens this connection goes on with.
    func upgrade(_ params: [String: JSONValue]) async throws -> Tokens {
        let tokens: Tokens = try await readyConnection().call("auth.upgrade", params)
        try await keeper.update(tokens)
        return tokens
    }

    /// Waits until nothing waits any more that the server has not refused, for so long at most.
    func drainOutbox(atMost limit: Duration) async throws {
        let end = ContinuousClock.now + limit
        while isReady, ContinuousClock.now < end, try await !store.read({ try $0.pendingQueueKeys().isEmpty }) {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func readyConnection() async throws -> LineConnection {
        if connection == nil { connectSignal.signal() }
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
