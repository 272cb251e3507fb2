import Accounts
import ChangeFeed
import DatabaseAccess
import Foundations
import Logging
import NIOCore
import Postgres
import Synchronization
import WireProtocol

/// The session of one connection: unauthenticated or of one user.
actor ConnectionSession: LineSession {
    nonisolated let service: MessagingService
    nonisolated let sink: any ClientSink
    nonisolated let peerAddress: String

    /// The key by which limits count the client's address.
    nonisolated let addressKey: AddressKey
    nonisolated var limits: RateLimits { service.limits }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe sink.executor }

    private var user: VerifiedToken? { didSet { updatePresence() } }
    private var slot: ConnectedSessions.Slot?

    /// True if the user's session has ended. Then its requests fail until the next sign-in.
    private var hasEnded = false { didSet { updatePresence() } }

    /// True while a request of this connection ends its own session. The client gets an answer, not a goodbye.
    private var isEndingOwnSession = false

    /// The last ended session and deleted user that ``sessionEnded(_:)`` and ``userDeleted(_:)`` reported.
    private var lastEnded: (session: ID?, user: ID?)
    private var subscription: Feed.SubscriptionID? { didSet { updatePresence() } }

    /// True if the app is in the foreground (`session.set_state`).
    private var isActive = true { didSet { updatePresence() } }

    /// The user that this session counts as online.
    private var onlineUser: ID?
    private var isClosed = false

    /// The time of the user's last write, or of the connection's begin, which follows writes on an earlier connection.
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
            operation =
                try request.isCompatible
                ? Operation.compatible(request.method) : Operation.named(request.method)
        } catch {
            let answer = Answer(.failure(error))
            record(answer, to: id, nil, after: .now - start)
            return answer
        }
        let answer = await CurrentRequest.$current.withValue(currentRequest(id, operation)) {
            await perform(request, operation, id)
        }
        record(answer, to: id, operation, after: .now - start)
        return answer
    }

    @discardableResult
    func admitRequest(bytes: Int, canWait: Bool) async throws(ProtocolError) -> Bool {
        try await limits.admitRequest(of: userID, at: addressKey, bytes: bytes, canWait: canWait)
    }

    func countRequests(_ count: Int) { limits.countRequests(count, of: userID, at: addressKey) }

    func currentRequest(_ id: RequestID, _ operation: Operation) -> CurrentRequest {
        CurrentRequest(id: id, method: operation.method, owner: owner)
    }

    var owner: RequestOwner {
        guard case .user(let user, _) = caller else { return RequestOwner(addressKey) }
        return RequestOwner(user, in: isGuest ? .guests(addressKey) : .users(addressKey))
    }

    /// Records an answered request in metrics and log.
    ///
    /// - Parameter operation: nil for an unknown method, whose name is not logged since the client chose it.
    func record(_ answer: Answer, to id: RequestID, _ operation: Operation?, after duration: Duration) {
        let code: ErrorCode? = if case .failure(let error) = answer.content { error.code } else { nil }
        service.requestMetrics.record(operation, code, after: duration)
        service.activity.recordAnswer()
        service.logger.debug(
            "request answered",
            metadata: [
                "request": "\(id)", "method": "\(operation?.method ?? "unknown")", "code": "\(code?.rawValue ?? "ok")",
                "ms": "\(duration.count(of: .milliseconds(1)))",
            ])
    }

    private func perform(_ request: Request, _ operation: Operation, _ id: RequestID) async -> Answer {
        do throws(ProtocolError) {
            return try await checkSize(of: operation.perform(self, params(of: request, operation)))
        } catch {
            return Answer(.failure(logInternalError(error, of: operation, id)))
        }
    }

    /// Returns the checked params of a request.
    ///
    /// - Throws: `unauthenticated`, `session_revoked`, `invalid_params`.
    func params(of request: Request, _ operation: Operation) throws(ProtocolError) -> Params {
        if operation.access == .user {
            guard user != nil else { throw .unauthenticated }
            if hasEnded { throw .sessionRevoked }
        }
        let params = try Params(request.params, of: operation)
        try params.check()
        return params
    }

    /// Returns the answer, or throws if it is too long. Since pages end earlier, only a single object can be.
    private func checkSize(of answer: Answer) async throws(ProtocolError) -> Answer {
        // The line also contains the envelope and the request's id, which is shorter than the request's line.
        let limit = Answer.maxLineBytes - service.info.maxLineBytes - 64
        guard case .result(let json) = answer.content, json.readableBytes > limit else { return answer }
        // The client does not get the page, so no pushes may follow.
        if answer.afterWriting != nil { await endSync() }
        throw .fault("answer of \(json.readableBytes) bytes exceeds the limit of \(limit)")
    }

    func close() async {
        isClosed = true
        await endSync()
        releaseSlot()
    }

    /// Logs an internal error with an incident number. Returns the error for the client, with this number only.
    func logInternalError(_ error: ProtocolError, of operation: Operation, _ id: RequestID) -> ProtocolError {
        guard let reason = error.reason else { return error }
        let incident = ID.random()
        service.logger.error(
            "a request failed",
            metadata: [
                "incident": "\(incident)", "request": "\(id)", "method": "\(operation.method)", "reason": "\(reason)",
            ])
        return error.withIncident(incident)
    }
}

extension ConnectionSession {
    /// Authenticates the connection as the token's user, or extends its expiry.
    ///
    /// - Throws: `invalid_request` if another user is signed in; `session_revoked` if the token's session has ended.
    func authenticate(with token: VerifiedToken) async throws(ProtocolError) {
        try requireNoOtherUser(than: token.user)
        let session = service.accounts.provider == .builtin ? token.session : nil
        try await acquireSlot(of: token.user, session) { () throws(ProtocolError) in
            try await service.accounts.requireActiveSession(of: token)
            return token
        }
    }

    /// Opens a session of the account on this connection.
    ///
    /// - Throws: `invalid_request` if another user is signed in; `invalid_credentials` if the password was changed
    ///   since it was verified.
    func signIn(_ account: AuthenticatedAccount) async throws(ProtocolError) -> IssuedTokens {
        try requireNoOtherUser(than: account.user)
        let session = ID.random()
        var issuedTokens: IssuedTokens?
        try await acquireSlot(of: account.user, session) { () throws(ProtocolError) in
            let opened = try await service.accounts.openSession(session, of: account)
            issuedTokens = opened
            return opened.token
        }
        guard let issuedTokens else { throw .fault("a session was opened without tokens") }
        return issuedTokens
    }

    /// Registers the connection before `verify` checks the session, so that no end of the session is missed.
    private func acquireSlot(
        of user: ID, _ session: ID?, _ verify: () async throws(ProtocolError) -> VerifiedToken
    ) async throws(ProtocolError) {
        let slot = try await service.connectedSessions.add(self, of: user, session)
        let token: VerifiedToken
        do throws(ProtocolError) {
            token = try await verify()
            if lastEnded.user == user || session != nil && lastEnded.session == session { throw .sessionRevoked }
        } catch {
            service.connectedSessions.remove(slot)
            throw error
        }
        releaseSlot()
        self.slot = slot
        self.user = token
        if hasEnded { isActive = true }
        hasEnded = false
        sink.setExpiry(
            Expiry(
                seconds: token.remaining,
                goodbye: Goodbye(.tokenExpired, "The token has expired: connect again with a fresh one.")))
    }

    /// The token of the signed-in user.
    ///
    /// - Throws: `unauthenticated`.
    var token: VerifiedToken {
        get throws(ProtocolError) {
            guard let user else { throw .unauthenticated }
            return user
        }
    }

    /// Ends the session after its own request. A goodbye follows unless the user signs in again.
    private func finishOwnSession() async {
        releaseSlot()
        await endSync()
        hasEnded = true
        sink.setExpiry(Expiry(seconds: service.endedSessionGrace / .seconds(1), goodbye: Self.sessionEndedGoodbye))
    }

    /// Closes the connection if the session, which has ended, is its own.
    func sessionEnded(_ session: ID) {
        lastEnded.session = session
        if user?.session == session, !isEndingOwnSession { terminate() }
    }

    /// Closes the connection if the deleted user is its own.
    func userDeleted(_ deleted: ID) {
        lastEnded.user = deleted
        if user?.user == deleted, !isEndingOwnSession { terminate() }
    }

    /// Performs a request that ends this connection's own session, and returns its result.
    func endOwnSession<Value: Sendable>(
        by work: () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        isEndingOwnSession = true
        defer { isEndingOwnSession = false }
        let value = try await work()
        await finishOwnSession()
        return value
    }

    private func terminate() {
        hasEnded = true
        sink.goodbye(Self.sessionEndedGoodbye)
    }

    private func releaseSlot() {
        guard let slot else { return }
        self.slot = nil
        service.connectedSessions.remove(slot)
    }

    private static let sessionEndedGoodbye = Goodbye(.sessionRevoked, "This session has ended: sign in again.")

    /// The signed-in user, or nil.
    var userID: ID? { user?.user }
    var isGuest: Bool { user?.isGuest ?? false }

    /// - Parameter other: the user about to sign in, or nil for a new user.
    /// - Throws: `invalid_request` if another user is signed in on this connection.
    func requireNoOtherUser(than other: ID?) throws(ProtocolError) {
        guard let user, user.user != other else { return }
        throw ProtocolError(
            .invalidRequest, "This connection is another user's: open a new one to sign in as somebody else.")
    }
}

extension ConnectionSession {
    /// Runs a read as the signed-in user.
    func read(_ function: Statement, _ parameters: [String?]) async throws(ProtocolError) -> Answer {
        Answer(.result(try await service.database.json(function, parameters, as: caller)))
    }

    /// Runs a read on the standby if it has replayed this user's last write, otherwise on the primary.
    func readPreferringStandby(_ function: Statement, _ parameters: [String?]) async throws(ProtocolError) -> Answer {
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

    /// Runs a write as the signed-in user within the limit of changes, and notifies the feed.
    ///
    /// Ten affected members, or 8 KiB of parameters, cost as much as another change.
    ///
    /// - Parameters:
    ///   - members: the number of members that it affects.
    ///   - addressCost: the number of changes that it counts as for the client's address; nil for as many as for the
    ///     user.
    func change(
        _ function: Statement, _ parameters: [String?], members: Int = 1, addressCost: Int? = nil
    ) async throws(ProtocolError) -> Answer {
        let bytes = parameters.reduce(0) { $0 + ($1?.utf8.count ?? 0) }
        try limits.takeChange(
            of: token.user, cost: max(1, (members + 9) / 10) + bytes / 8_192, addressCost: addressCost, bytes: bytes,
            at: addressKey, isGuest: isGuest)
        return try await write(function, parameters)
    }

    /// Runs a change of which all members of a conversation are told, each with the whole conversation. Ten of them cost
    /// as much as another change, and for the client's address five times as much: many admins of a group may share it.
    ///
    /// - Parameters:
    ///   - conversation: the id of the conversation.
    ///   - added: the number of users that it adds.
    func change(
        _ function: Statement, _ parameters: [String?], tellingMembersOf conversation: String?, adding added: Int = 0
    ) async throws(ProtocolError) -> Answer {
        let count = try await service.database.rows(Self.memberCount, [conversation], as: caller).text(0, 0)
        let members = (count.flatMap { Int($0) } ?? 0) + added
        return try await change(
            function, parameters, members: members, addressCost: members > 10 ? (members + 9) / 10 * 5 : nil)
    }

    private static let memberCount = Statement(
        "api.member_count", "select api.member_count($1::uuid)")

    /// Runs a write as the signed-in user, and notifies the feed.
    func write(_ function: Statement, _ parameters: [String?]) async throws(ProtocolError) -> Answer {
        let feed = service.feed
        feed.writeWillBegin()
        do throws(ProtocolError) {
            // The feed polls while the answer is still being sent.
            let rows = try await service.database.rows(function, parameters, as: caller) { feed.writeDidEnd() }
            recordWriteTime()
            return Answer(.result(rows.buffer(0, 0)))
        } catch {
            // Also after a failure: the connection may have been lost after the commit.
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

    /// Publishes a typing notice to the conversation's other members, at most every 2 s.
    ///
    /// - Throws: `not_found` if the user is not a member.
    func publishTyping(in conversation: ID, _ isTyping: Bool) async throws(ProtocolError) -> Answer {
        let user = try token.user
        if try await limits.takeTyping(
            of: user, in: conversation, at: addressKey,
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

extension ConnectionSession {
    /// Opens this session's sync, which replaces an open one. Without `live` no pushes follow.
    func openSync(_ request: SyncRequest, live: Bool) async throws(ProtocolError) -> Answer {
        guard let user else { throw .fault("sync.open without a user") }
        await endSync()
        // The client has stored what its cursor includes.
        if let cursor = request.cursor { service.deliveries?.acknowledge(cursor, of: user.user, nil) }
        let (feed, sync, sink) = (service.feed, service.sync, self.sink)
        let (id, page) = try await service.page(request, for: owner, newerThan: lastWrite) {
            request, readPosition, reading throws(ProtocolError) -> (Feed.SubscriptionID?, SyncPage)? in
            guard live else { return try await sync.page(request, of: user, readPosition, reading).map { (nil, $0) } }
            // The feed keeps changes from here on, so that none is lost between the page and the first push. It begins
            // only with the sync's turn in the queue, since keeping changes for all waiting syncs would be costly.
            let (id, position) = try await feed.subscribe(
                user: user.user, sink: sink, messagesPerConversation: request.messagesPerConversation)
            do throws(ProtocolError) {
                // If the feed has switched servers meanwhile, or a server was promoted or restored, the page may be of
                // an older state or another history. Then the page is read again.
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
        // No pushes follow a page that is not the last, or whose request was cancelled.
        guard let start = page.start, !Task.isCancelled, !isClosed else {
            await feed.unsubscribe(id)
            return Answer(.result(page.changes))
        }
        subscription = id
        return Answer(.result(page.changes)) { await feed.activate(id, from: start) }
    }

    /// Records that the client has received everything up to a cursor.
    func acknowledge(_ cursor: Cursor) {
        guard let user else { return }
        service.deliveries?.acknowledge(cursor, of: user.user, subscription)
    }

    /// Sets whether the app is in the foreground. A session in the background does not make its user online.
    func setActive(_ isActive: Bool) { self.isActive = isActive }

    /// Counts the session's user as online or not. Every property that this depends on calls it.
    private func updatePresence() {
        let isOnline = subscription != nil && isActive && !hasEnded
        let newUser = isOnline ? user?.user : nil
        guard newUser != onlineUser else { return }
        if let onlineUser { service.presence?.sessionEnded(of: onlineUser) }
        onlineUser = newUser
        if let newUser { service.presence?.sessionStarted(of: newUser) }
    }

    /// Ends the sync and its pushes.
    func endSync() async {
        guard let subscription else { return }
        self.subscription = nil
        sink.stopPushes()
        await service.feed.unsubscribe(subscription)
    }
}
