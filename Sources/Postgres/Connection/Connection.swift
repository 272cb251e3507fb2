import Concurrency
import Logging

/// A connection to PostgreSQL, the only user of its socket.
///
/// A run is a pipeline: all its statements and one Sync are sent at once, and PostgreSQL executes them as one
/// transaction that commits at the Sync or has no effect. Runs of several callers execute strictly one after another,
/// so a deadline or cancellation ends only the statement it is meant for.
///
/// The actor lives on its reactor's thread, the only one that uses libpq.
package actor Connection {
    package nonisolated let reactor: Reactor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    let options: ConnectionOptions
    private var handle: ConnectionHandle
    private var cancelHandle: CancelHandle?
    private var watch: PollSet.Watch?
    /// The time at which the watch fires. It is not changed when a request ends early: one spurious wake-up per
    /// deadline costs less than setting it twice per request.
    private var watchDeadline: ContinuousClock.Instant?
    private var isFlushing = false
    private var isPipelining = false

    /// The SQL of each prepared name. A name is added once its PREPARE has succeeded.
    private var prepared: [String: String] = [:]

    private var active: PipelineRequest?
    private var queue: [PipelineRequest] = []
    private var nextID = 0
    private var buffer = ParameterBuffer()

    private var lossHandler: (@Sendable (PostgresError) -> Void)?
    private var notificationHandler: (@Sendable (Notification) -> Void)?

    /// True if statements are prepared. Connections through a pooler prepare none.
    private var preparesStatements: Bool

    /// True if the connection goes through a pooler, which may assign another backend to each transaction.
    private var isPooled = false

    /// The id of the backend process, or the value that a pooler invents.
    package nonisolated let backendProcessID: Int32
    nonisolated let openedAt = ContinuousClock.now
    /// The server's version as a number: 15.4 is 150004.
    package nonisolated let serverVersion: Int

    /// Connects to PostgreSQL.
    ///
    /// - Parameters:
    ///   - url: a libpq connection string: a URL or keywords.
    ///   - reactor: the reactor on whose thread the connection lives.
    ///   - options: how to connect and use the connection.
    /// - Throws: `connectFailed`, `cancelled`.
    package static func open(
        _ url: String, on reactor: Reactor, options: ConnectionOptions = ConnectionOptions()
    ) async throws(PostgresError) -> Connection {
        let handle = try await ConnectAttempt(reactor).connect(url, options)
        let connection = Connection(handle, reactor, options)
        await connection.startWatching()
        do throws(PostgresError) {
            try await connection.beginSession()
        } catch {
            await connection.close()
            if case .cancelled = error { throw .cancelled }
            throw .connectFailed("\(error)")
        }
        return connection
    }

    private init(_ handle: Transfer<ConnectionHandle>, _ reactor: Reactor, _ options: ConnectionOptions) {
        guard let handle = handle.open() else { preconditionFailure("a connection is made of its handle once") }
        self.reactor = reactor
        self.options = options
        preparesStatements = false
        cancelHandle = handle.makeCancelHandle()
        backendProcessID = handle.backendProcessID
        serverVersion = Int(handle.serverVersion)
        self.handle = handle
    }

    deinit {
        // The socket must not be closed while the reactor still polls it.
        if let watch { reactor.remove(watch, thenDrop: Transfer(handle.take())) }
    }

    private func startWatching() {
        watch = reactor.watch(handle.socket) { [weak self] event in
            // The handler runs on the reactor's thread, which is this actor's.
            self?.assumeIsolated { connection in
                switch event {
                case .ready: connection.socketIsReady()
                case .due: connection.deadlinePassed()
                }
            }
        }
    }

    /// Sets the session's settings and enables prepared statements, unless the connection goes through a pooler.
    ///
    /// A pooler invents the process id that it reports, since the session has no backend of its own.
    private func beginSession() async throws(PostgresError) {
        let process = ["\(backendProcessID)"]
        try await liftTimeouts(process)
        let rows = try await run([Call(SessionSettings.statement, process)], deadline: options.connectTimeout)
        isPooled = rows.last?.text(0, 0) != "\(backendProcessID)"
        preparesStatements = options.preparesStatements && !isPooled
    }

    /// Runs the calls in one pipeline, as one transaction, and returns the rows of each.
    ///
    /// - Parameters:
    ///   - calls: the statements in order. The first failure ends the transaction, and the rest is skipped.
    ///   - deadline: the maximum time that the caller waits, including the queue; nil for no limit. After it a
    ///     cancel request is sent, and the connection is closed if the run had begun.
    /// - Throws: `server`, `connectionLost`, `deadlineExceeded`, `cancelled` (with the effects of a deadline) and
    ///   `refused`. After a `server` error about a stale prepared statement the connection is closed.
    package func run(_ calls: [Call], deadline: Duration? = nil) async throws(PostgresError) -> [Rows] {
        if calls.isEmpty { return [] }
        return try await perform(.pipeline(calls), until: deadline.map { .now + $0 })
    }

    /// Executes a script of statements by the simple protocol, and returns the rows of each.
    ///
    /// Without its own BEGIN the whole script is one transaction.
    ///
    /// - Parameters:
    ///   - sql: the statements, without parameters.
    ///   - deadline: as for `run`.
    /// - Throws: as `run`. The position in a `server` error counts from the first character of the script.
    @discardableResult
    package func execute(_ sql: String, deadline: Duration? = nil) async throws(PostgresError) -> [Rows] {
        try await perform(.script(sql), until: deadline.map { .now + $0 })
    }

    /// Closes the connection. Running and queued requests fail with `connectionLost`.
    package func close() {
        end(.connectionLost(sent: true, "closed by this process"), notifiesHandler: false)
    }

    /// True if the connection has ended.
    package var isClosed: Bool { handle.isClosed }

    /// True if the connection is as good as new: open, idle and outside a transaction.
    var isReusable: Bool { !handle.isClosed && active == nil && handle.isOutsideTransaction }

    /// True if the session is read-only.
    var isReadOnly: Bool { handle.isReadOnly }

    /// Sets a handler that runs on the reactor's thread when the connection ends without `close`.
    func onLoss(_ handler: @escaping @Sendable (PostgresError) -> Void) {
        if handle.isClosed {
            handler(.connectionLost(sent: false, "closed already"))
        } else {
            lossHandler = handler
        }
    }

    /// Sets a handler that runs on the reactor's thread for each notification.
    func onNotification(_ handler: @escaping @Sendable (Notification) -> Void) { notificationHandler = handler }

    private func perform(
        _ work: PipelineRequest.Work, until deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> [Rows] {
        if let deadline, deadline <= .now { throw .deadlineExceeded }
        let id = nextID
        nextID += 1
        let result: Result<[Rows], PostgresError> = await withTaskCancellationHandler {
            await withSuspension { caller in
                if Task.isCancelled { return .resume(.failure(.cancelled)) }
                submit(PipelineRequest(id: id, work: work, deadline: deadline) { caller.resume(returning: $0) })
                return .suspend
            }
        } onCancel: {
            // A cancellation before the submission is detected by the submission.
            reactor.submit { self.assumeIsolated { $0.abandon(id, .cancelled) } }
        }
        return try result.get()
    }

    /// Queues a request after all previous ones.
    func submit(_ request: PipelineRequest) {
        if handle.isClosed {
            request.reply(.failure(.connectionLost(sent: false, "the connection is closed")))
        } else if active == nil {
            begin(request)
        } else {
            queue.append(request)
            wake(by: request.deadline)
        }
    }

    private func finish(_ request: PipelineRequest) {
        active = nil
        if request.error?.sqlState == .readOnlyTransaction {
            // The session's server may have become a standby, or writes may have been enabled again.
            end(.connectionLost(sent: true, "closed, because the session is read-only"), notifiesHandler: true)
        } else if request.error?.indicatesStalePlan == true, case .pipeline = request.work {
            // The statements prepared here would keep failing; a new connection prepares them again.
            end(.connectionLost(sent: true, "closed, because a prepared statement is stale"), notifiesHandler: true)
        }
        // The next request starts before the caller gets its result.
        beginNext()
        request.reply(request.result)
    }

    private func beginNext() {
        while active == nil, !queue.isEmpty, !handle.isClosed { begin(queue.removeFirst()) }
    }

    private func begin(_ request: PipelineRequest) {
        var request = request
        wake(by: request.deadline)
        switch request.work {
        case .pipeline(let calls): sendPipeline(calls, &request)
        case .script(let sql): sendScript(sql, &request)
        }
    }

    private func sendPipeline(_ calls: [Call], _ request: inout PipelineRequest) {
        if let refusal = fillBuffer(calls) {
            request.reply(.failure(.refused(refusal)))
            return
        }
        if !isPipelining {
            guard handle.enterPipelineMode() else { return failSending(request) }
            isPipelining = true
        }
        request.steps.reserveCapacity(calls.count + 1)
        if isPooled {
            guard handle.sendUnprepared(SessionSettings.prelude, buffer, 0..<0) else {
                return failSending(request)
            }
            request.steps.append(.prelude)
        }
        var start = 0
        for call in calls {
            let range = start..<start + call.parameters.count
            start = range.upperBound
            let statement = call.statement
            if preparesStatements {
                if prepared[statement.name] == nil, !request.prepares(statement) {
                    guard handle.sendPrepare(statement) else { return failSending(request) }
                    request.isSent = true
                    request.steps.append(.prepare(statement))
                }
                guard handle.sendPrepared(statement, buffer, range) else { return failSending(request) }
            } else {
                guard handle.sendUnprepared(statement, buffer, range) else { return failSending(request) }
            }
            request.isSent = true
            request.steps.append(.call)
        }
        guard handle.sendSync() else { return failSending(request) }
        active = request
        flush()
    }

    /// Writes the parameters to `buffer`, or returns the reason why the calls cannot be sent.
    private func fillBuffer(_ calls: [Call]) -> String? {
        buffer.removeAll()
        for call in calls {
            let statement = call.statement
            if call.parameters.count > 65_535 {
                return "\(statement.name) has \(call.parameters.count) parameters; PostgreSQL allows 65535"
            }
            if let sql = prepared[statement.name], sql != statement.sql {
                return "two statements have the name \(statement.name)"
            }
            for (index, parameter) in call.parameters.enumerated() where !buffer.append(parameter) {
                return "parameter $\(index + 1) of \(statement.name) contains a NUL character"
            }
        }
        return nil
    }

    private func sendScript(_ sql: String, _ request: inout PipelineRequest) {
        if sql.utf8.contains(0) {
            request.reply(.failure(.refused("the script contains a NUL character")))
            return
        }
        if isPipelining {
            guard handle.exitPipelineMode() else { return failSending(request) }
            isPipelining = false
        }
        guard handle.sendScript(sql) else { return failSending(request) }
        request.isSent = true
        active = request
        flush()
    }

    private func failSending(_ request: PipelineRequest) {
        active = request
        connectionFailed()
    }

    private func flush() {
        guard let isDone = handle.flush() else { return connectionFailed() }
        if isDone == isFlushing {
            isFlushing = !isDone
            if let watch { reactor.setWriting(isFlushing, of: watch) }
        }
    }

    private func socketIsReady() {
        // Read first, even if there is much to write: a server that waits for us to read reads nothing.
        let ending = handle.consumeInput() ? nil : handle.errorMessage
        readResults()
        while let notification = handle.nextNotification() { notificationHandler?(notification) }
        if ending != nil || handle.isBad {
            connectionFailed(ending)
        } else if isFlushing {
            flush()
        }
    }

    private func readResults() {
        while active != nil, !handle.isBusy {
            let outcome: PipelineRequest.Outcome
            if let result = handle.nextResult() {
                // libpq generates an error when the connection ends; it is no response of the server.
                if handle.isBad, result.error.sqlState.rawValue.isEmpty { return }
                let kind = result.kind
                outcome = active?.receive(kind, result) ?? .more
            } else {
                outcome = active?.receiveEnd() ?? .more
            }
            switch outcome {
            case .more: break
            case .prepared(let statement): prepared[statement.name] = statement.sql
            case .finished: if let active { finish(active) }
            case .unusable(let reason): end(.connectionLost(sent: true, reason), notifiesHandler: true)
            }
        }
    }

    private func wake(by deadline: ContinuousClock.Instant?) {
        guard let deadline, deadline < watchDeadline ?? deadline + .seconds(1), let watch else { return }
        watchDeadline = deadline
        reactor.setDeadline(deadline, of: watch)
    }

    private func deadlinePassed() {
        watchDeadline = nil
        let now = ContinuousClock.now
        for request in queue where request.deadline.map({ $0 <= now }) ?? false {
            abandon(request.id, .deadlineExceeded)
        }
        if let active, let deadline = active.deadline, deadline <= now { abandon(active.id, .deadlineExceeded) }
        wake(by: active?.deadline)
        for request in queue { wake(by: request.deadline) }
    }

    /// Fails a request before the server has responded. A running request closes the connection.
    func abandon(_ id: Int, _ error: PostgresError) {
        if let index = queue.firstIndex(where: { $0.id == id }) {
            queue.remove(at: index).reply(.failure(error))
        } else if let request = active, request.id == id {
            active = nil
            cancelHandle.take()?.cancelInBackground()
            end(.connectionLost(sent: true, "closed, because a request was abandoned: \(error)"), notifiesHandler: true)
            request.reply(.failure(error))
        }
    }

    /// Handles that the connection has ended.
    private func connectionFailed(_ ending: String? = nil) {
        var reason = ending ?? handle.errorMessage
        // The server's last message, if it gave a reason.
        if let last = active?.error, last.endsConnection { reason = last.description }
        if reason.isEmpty { reason = "the server closed the connection" }
        end(.connectionLost(sent: true, reason), notifiesHandler: true)
    }

    private func end(_ error: PostgresError, notifiesHandler: Bool) {
        if handle.isClosed { return }
        if let watch { reactor.remove(watch) }
        watch = nil
        handle.close()
        var reason = "the connection is closed"
        if case .connectionLost(_, let text) = error { reason = text }
        let ended = active
        let waiting = queue
        active = nil
        queue = []
        let handler = lossHandler
        lossHandler = nil
        notificationHandler = nil
        if notifiesHandler { handler?(error) }
        if let ended { ended.reply(.failure(.connectionLost(sent: ended.isSent, reason))) }
        for request in waiting { request.reply(.failure(.connectionLost(sent: false, reason))) }
    }
}
