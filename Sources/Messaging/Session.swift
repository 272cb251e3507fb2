internal import Logging
internal import NIOCore
internal import Postgres
internal import Synchronization

/// One connection's session: unauthenticated, or one user.
actor Session: LineSession {
    nonisolated let service: MessagingService
    nonisolated let sink: any ClientSink
    nonisolated let peerAddress: String

    /// The key by which limits count the client's address.
    nonisolated let addressKey: AddressKey
    nonisolated var limits: RateLimits { service.limits }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe sink.executor }

    private var user: VerifiedToken? { didSet { settlePresence() } }
    private var slot: ConnectedSessions.Slot?

    /// The user's session is over: no more is done for it on this connection, unless it signs in again.
    private var hasEnded = false { didSet { settlePresence() } }

    /// This connection is ending its own session: it is told so by an answer.
    private var isEnding = false

    /// The last session, and the last user, that ended under this connection, perhaps while it was still about to take
    /// it up.
    private var lastEnded: (session: ID?, user: ID?)
    private var subscription: Feed.SubscriptionID? { didSet { settlePresence() } }

    /// Whether the app is before its user: it says so by `session.set_state`.
    private var isActive = true { didSet { settlePresence() } }

    /// The user who is online by this session.
    private var present: ID?
    private var isClosed = false

    /// What is read for the user is no older than this: what it has done itself is there, also what it did on the
    /// connection before.
    private var lastWrite = ContinuousClock.now

    init(service: MessagingService, sink: any ClientSink, peerAddress: String) {
        self.service = service
        self.sink = sink
        self.peerAddress = peerAddress
        addressKey = AddressKey(peerAddress)
    }

    func answer(_ request: Request, _ id: RequestID) async -> Answer {
        let start = ContinuousClock.now
        let operation: Operation
        do throws(ProtocolError) {
            try await limits.waitForTurn(of: userID, at: addressKey)
            operation =
                try request.isCompatible
                ? Operation.compatible(request.method) : Operation.named(request.method)
        } catch {
            let answer = Answer(.failure(error))
            note(answer, to: id, nil, after: .now - start)
            return answer
        }
        let answer = await CurrentRequest.$current.withValue(currentRequest(id, operation)) {
            await perform(request, operation, id)
        }
        note(answer, to: id, operation, after: .now - start)
        return answer
    }

    func countInvalidRequest() async throws(ProtocolError) {
        try await limits.waitForTurn(of: userID, at: addressKey)
    }

    func currentRequest(_ id: RequestID, _ operation: Operation) -> CurrentRequest {
        let client = if case .user(let user, _) = caller { user } else { addressKey.description }
        return CurrentRequest(id: id, method: operation.method, client: client)
    }

    /// - Parameter operation: nil where there is none of the name that was asked for, which is the client's own text.
    func note(_ answer: Answer, to id: RequestID, _ operation: Operation?, after duration: Duration) {
        let code: ErrorCode? = if case .failure(let error) = answer.content { error.code } else { nil }
        service.requestMetrics.answered(operation, code, after: duration)
        service.activity.note()
        service.logger.debug(
            "request answered",
            metadata: [
                "request": "\(id)", "method": "\(operation?.method ?? "unknown")", "code": "\(code?.rawValue ?? "ok")",
                "ms": "\(duration.count(of: .milliseconds(1)))",
            ])
    }

    private func perform(_ request: Request, _ operation: Operation, _ id: RequestID) async -> Answer {
        do throws(ProtocolError) {
            return try await bounded(operation.perform(self, params(of: request, operation)))
        } catch {
            return Answer(.failure(file(error, of: operation, id)))
        }
    }

    /// The params of a request that may be asked.
    ///
    /// - Throws: why it may not.
    func params(of request: Request, _ operation: Operation) throws(ProtocolError) -> Params {
        if operation.access == .user {
            guard user != nil else { throw .unauthenticated }
            if hasEnded { throw .sessionRevoked }
        }
        let params = try Params(request.params, of: operation)
        try params.check()
        return params
    }

    /// The answer as it is; pages end before the bound, so that only a single object can be beyond it.
    private func bounded(_ answer: Answer) async throws(ProtocolError) -> Answer {
        // The line has the envelope too, and the request's id, which is within the request's line.
        let limit = Answer.maxLineBytes - service.info.maxLineBytes - 64
        guard case .result(let json) = answer.content, json.readableBytes > limit else { return answer }
        // The client will not know of what was to follow the answer.
        if answer.afterWriting != nil { await endSync() }
        throw .fault("the answer has \(json.readableBytes) bytes, of \(limit) at most")
    }

    func close() async {
        isClosed = true
        await endSync()
        await releaseSlot()
    }

    /// An internal error goes to the log with a number, and to the client with that number alone.
    func file(_ error: ProtocolError, of operation: Operation, _ id: RequestID) -> ProtocolError {
        guard let reason = error.reason else { return error }
        let incident = ID.random()
        service.logger.error(
            "a request failed",
            metadata: [
                "incident": "\(incident)", "request": "\(id)", "method": "\(operation.method)", "reason": "\(reason)",
            ])
        return error.filed(under: incident)
    }
}

extension Session {
    /// The connection becomes that user's, or its time is renewed.
    ///
    /// - Throws: `invalid_request` when it is another's; `session_revoked` when the token's session has ended.
    func become(_ token: VerifiedToken) async throws(ProtocolError) {
        try requireMayBecome(token.user)
        let session = service.accounts.provider == .builtin ? token.session : nil
        try await acquireSlot(of: token.user, session) { () throws(ProtocolError) in
            try await service.accounts.use(token)
            return token
        }
    }

    /// Opens a session of that user on this connection.
    ///
    /// - Throws: `invalid_request` when the connection is another's; `invalid_credentials` when the password was
    ///   changed since it was verified.
    func signIn(_ holder: AccountHolder) async throws(ProtocolError) -> SignedIn {
        try requireMayBecome(holder.user)
        let session = ID.random()
        var signedIn: SignedIn?
        try await acquireSlot(of: holder.user, session) { () throws(ProtocolError) in
            let opened = try await service.accounts.openSession(session, of: holder)
            signedIn = opened
            return opened.token
        }
        guard let signedIn else { throw .fault("a session was opened and is not there") }
        return signedIn
    }

    /// Is noted under the session before `verify` looks at it: its end, whenever it comes, is seen there or here.
    private func acquireSlot(
        of user: ID, _ session: ID?, _ verify: () async throws(ProtocolError) -> VerifiedToken
    ) async throws(ProtocolError) {
        let slot = await service.connectedSessions.add(self, of: user, session)
        let token: VerifiedToken
        do throws(ProtocolError) {
            token = try await verify()
            if lastEnded.user == user || session != nil && lastEnded.session == session { throw .sessionRevoked }
        } catch {
            await service.connectedSessions.remove(slot)
            throw error
        }
        await releaseSlot()
        self.slot = slot
        self.user = token
        if hasEnded { isActive = true }
        hasEnded = false
        sink.setExpiry(
            Expiry(
                seconds: token.remaining,
                goodbye: Goodbye(.tokenExpired, "The token has expired: connect again with a fresh one.")))
    }

    /// Who is signed in, as an operation for users may ask.
    var token: VerifiedToken {
        get throws(ProtocolError) {
            guard let user else { throw .unauthenticated }
            return user
        }
    }

    /// This connection has ended its own session: the next request is told so, and so is one that sends none.
    private func end() async {
        await releaseSlot()
        await endSync()
        hasEnded = true
        sink.setExpiry(Expiry(seconds: service.endedSessionGrace / .seconds(1), goodbye: Self.sessionEnded))
    }

    /// That session has ended elsewhere.
    func end(of session: ID) {
        lastEnded.session = session
        if user?.session == session, !isEnding { endNow() }
    }

    /// That user was deleted.
    func end(ofUser deleted: ID) {
        lastEnded.user = deleted
        if user?.user == deleted, !isEnding { endNow() }
    }

    /// Does what ends this connection's own session, and gives its answer.
    func end<Value: Sendable>(
        by work: () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        isEnding = true
        defer { isEnding = false }
        let answer = try await work()
        await end()
        return answer
    }

    private func endNow() {
        hasEnded = true
        sink.goodbye(Self.sessionEnded)
    }

    private func releaseSlot() async {
        guard let slot else { return }
        self.slot = nil
        await service.connectedSessions.remove(slot)
    }

    private static let sessionEnded = Goodbye(.sessionRevoked, "This session has ended: sign in again.")

    /// Who is signed in on this connection; nil: nobody.
    var userID: ID? { user?.user }
    var isGuest: Bool { user?.isGuest ?? false }

    /// - Parameter other: whoever is about to sign in; nil for somebody new.
    /// - Throws: `invalid_request` when the connection is another user's.
    func requireMayBecome(_ other: ID?) throws(ProtocolError) {
        guard let user, user.user != other else { return }
        throw ProtocolError(
            .invalidRequest, "This connection is another user's: open a new one to sign in as somebody else.")
    }
}

extension Session {
    /// Asks as the signed-in user.
    func read(_ function: Statement, _ parameters: [String?]) async throws(ProtocolError) -> Answer {
        Answer(.result(try await service.database.json(function, parameters, as: caller)))
    }

    /// The same of what others may have changed just now as well: from the standby, where it has all that the user did.
    func browse(_ function: Statement, _ parameters: [String?]) async throws(ProtocolError) -> Answer {
        if let standby = service.standby, let reached = service.feed.readPosition.withLock({ $0.standby?.reached }),
            reached > lastWrite
        {
            do throws(ProtocolError) {
                return Answer(.result(try await standby.json(function, parameters, as: caller)))
            } catch {
                guard error.code == .unavailable else { throw error }
            }
        }
        return try await read(function, parameters)
    }

    /// Changes something as the signed-in user, within what one user may change, and lets the feed know.
    ///
    /// - Parameter members: the number of members that it touches: ten cost as much as one other change.
    func change(
        _ function: Statement, _ parameters: [String?], members: Int = 1
    ) async throws(ProtocolError) -> Answer {
        try limits.takeChange(of: token.user, cost: max(1, (members + 9) / 10))
        return try await write(function, parameters)
    }

    /// Writes as the signed-in user, and lets the feed know.
    func write(_ function: Statement, _ parameters: [String?]) async throws(ProtocolError) -> Answer {
        let feed = service.feed
        feed.writeWillBegin()
        do throws(ProtocolError) {
            // The feed polls while the answer is on its way.
            let rows = try await service.database.rows(function, parameters, as: caller) { feed.writeDidEnd() }
            recordWriteTime()
            return Answer(.result(rows.buffer(0, 0)))
        } catch {
            // Also after a failure: the connection may have been lost when the commit was done.
            recordWriteTime()
            feed.writeDidEnd()
            throw error
        }
    }

    /// Records that the session may have written at this time, and notifies the feed.
    func recordWriteTimeAndNotifyFeed() {
        lastWrite = .now
        service.feed.changed()
    }

    /// Records that the session wrote at this time. The caller has already notified the feed.
    func recordWriteTime() { lastWrite = .now }

    /// Tells the conversation's other members, unless they were told just before.
    ///
    /// - Throws: `not_found` where the user is no member.
    func tellTyping(in conversation: ID, _ isTyping: Bool) async throws(ProtocolError) -> Answer {
        let user = try token.user
        if try await limits.tellsTyping(
            of: user, in: conversation,
            { () throws(ProtocolError) in
                try await service.database.rows(Self.typing, ["\(conversation)"], as: caller).text(0, 0) == "t"
            })
        {
            await service.feed.publish(TypingNotice(conversation: conversation, user: user, isTyping: isTyping))
        }
        return Answer(.object(JSONObject([])))
    }

    private static let typing = Statement("api.typing", "select api.typing($1::uuid)")

    var caller: Caller { user?.caller ?? .anyone }
}

extension Session {
    /// Opens, or opens anew, this session's sync; one that is not `live` ends it.
    func openSync(_ request: SyncRequest, live: Bool) async throws(ProtocolError) -> Answer {
        guard let user else { throw .fault("sync.open without a user") }
        await endSync()
        let (feed, sync, sink) = (service.feed, service.sync, self.sink)
        let (id, page) = try await service.page(request, for: user.user, newerThan: lastWrite) {
            request, readPosition, reading throws(ProtocolError) -> (Feed.SubscriptionID?, SyncPage)? in
            guard live else { return try await sync.page(request, of: user, readPosition, reading).map { (nil, $0) } }
            // The feed keeps what it sees from now on, so that nothing falls between the page and the first push. Not
            // from before its turn on: what it keeps for many who wait, it would have to look through for each.
            let (id, position) = try await feed.subscribe(
                user: user.user, sink: sink, messagesPerConversation: request.messagesPerConversation)
            do throws(ProtocolError) {
                // Where the feed moved meanwhile, the page may not be where it was; and of a server that was promoted,
                // or has come back with less, it is of another history or of an older moment.
                let page = try await sync.page(request, of: user, readPosition, reading)
                if let page, feed.readPosition.withLock({ $0.moveCount }) == readPosition.moveCount,
                    page.start.map(position.isReached) ?? true
                {
                    return (id, page)
                }
            } catch {
                await feed.unsubscribe(id)
                throw error
            }
            await feed.unsubscribe(id)
            return nil
        }
        guard let id else { return Answer(.result(page.changes)) }
        // Nothing follows a page that is not the last, and none that the connection has given up.
        guard let start = page.start, !Task.isCancelled, !isClosed else {
            await feed.unsubscribe(id)
            return Answer(.result(page.changes))
        }
        subscription = id
        return Answer(.result(page.changes)) { await feed.activate(id, from: start) }
    }

    /// Says whether the user sees the app: who has it in the background is not online by it.
    func setActive(_ isActive: Bool) { self.isActive = isActive }

    /// Tells the node's presence what this session has become. Whatever that hangs on calls it, so that each session is
    /// counted once, and counted off once.
    private func settlePresence() {
        let isPresent = subscription != nil && isActive && !hasEnded
        let now = isPresent ? user?.user : nil
        guard now != present else { return }
        if let present { service.presence?.ended(present) }
        present = now
        if let now { service.presence?.began(now) }
    }

    /// Ends the pushes.
    func endSync() async {
        guard let subscription else { return }
        self.subscription = nil
        sink.stopPushes()
        await service.feed.unsubscribe(subscription)
    }
}
