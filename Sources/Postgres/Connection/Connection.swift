import Logging
import Threads

/// One connection to PostgreSQL, and the only user of its socket.
///
/// A run is a pipeline: all its statements and one Sync are sent at once, and PostgreSQL takes them as one transaction
/// that commits at the Sync or leaves nothing behind. Runs of several callers take turns, strictly one after another:
/// so a deadline or a cancellation ends the statement that it is meant for, and no other.
///
/// The actor lives on its reactor's thread, which alone touches libpq.
public actor Connection {
    public nonisolated let reactor: Reactor
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    let options: ConnectionOptions
    private var handle: ConnectionHandle
    private var cancelHandle: CancelHandle?
    private var watch: PollSet.Watch?
    /// When the watch wakes us. Left as it is when a request ends early: one wake in vain a deadline costs less than
    /// setting it twice a request.
    private var watchDeadline: ContinuousClock.Instant?
    private var isFlushing = false
    private var isPipelining = false

    /// The SQL that each name stands for here. A name comes in once its PREPARE has succeeded.
    private var prepared: [String: String] = [:]

    private var active: PipelineRequest?
    private var queue: [PipelineRequest] = []
    private var nextID = 0
    private var buffer = ParameterBuffer()

    private var lossHandler: (@Sendable (PostgresError) -> Void)?
    private var notificationHandler: (@Sendable (Notification) -> Void)?

    /// Whether names stand for statements here. A connection through a pooler prepares none.
    private var preparesStatements: Bool

    /// True if a pooler stands between, which may give each transaction another backend.
    private var isPooled = false

    /// The process that serves this connection, as the server's own tables name it; behind a pooler, the pooler's idea.
    public nonisolated let backendProcessID: Int32
    nonisolated let openedAt = ContinuousClock.now
    /// The server's version as a number: 15.4 is 150004.
    public nonisolated let serverVersion: Int

    /// Connects to PostgreSQL.
    ///
    /// - Parameters:
    ///   - url: A connection string of libpq: a URL or keywords.
    ///   - reactor: Whose thread the connection lives on.
    ///   - options: How to connect and how to use the connection.
    /// - Throws: `connectFailed`; `cancelled`.
    public static func open(
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
                case .due: connection.deadlineHasCome()
                }
            }
        }
    }

    /// Sets the session's settings and prepares statements from now on, unless a pooler serves this connection.
    ///
    /// A pooler has to make up the process number that it gives a session, since the session has no process of its own.
    private func beginSession() async throws(PostgresError) {
        let process = ["\(backendProcessID)"]
        try await liftLimits(process)
        let rows = try await run([Call(SessionSettings.statement, process)], deadline: options.connectTimeout)
        isPooled = rows.last?.text(0, 0) != "\(backendProcessID)"
        preparesStatements = options.preparesStatements && !isPooled
    }

    /// Runs the calls in one pipeline, as one transaction, and gives the rows of each.
    ///
    /// - Parameters:
    ///   - calls: What is executed, in order. The first failure ends the transaction, and the rest is passed over.
    ///   - deadline: How long the caller waits, its turn included; nil is for ever. Past it the server is asked to stop,
    ///     and the connection is closed if the run had begun.
    /// - Throws: `server`, `connectionLost`, `deadlineExceeded`, `cancelled` (with the effects of a deadline) and
    ///   `refused`. After a `server` error that tells of a prepared statement gone stale the connection is closed.
    public func run(_ calls: [Call], deadline: Duration? = nil) async throws(PostgresError) -> [Rows] {
        try await run(calls, until: deadline.map { .now + $0 })
    }

    func run(_ calls: [Call], until deadline: ContinuousClock.Instant?) async throws(PostgresError) -> [Rows] {
        if calls.isEmpty { return [] }
        return try await perform(.pipeline(calls), until: deadline)
    }

    /// Executes a script of any number of statements by the simple protocol, and gives the rows of each.
    ///
    /// Without a BEGIN of its own the whole script is one transaction.
    /// - Parameters:
    ///   - sql: The statements, without parameters.
    ///   - deadline: As for `run`.
    /// - Throws: As `run`. The position in a `server` error counts from the script's first character.
    @discardableResult
    public func execute(_ sql: String, deadline: Duration? = nil) async throws(PostgresError) -> [Rows] {
        try await perform(.script(sql), until: deadline.map { .now + $0 })
    }

    /// Ends the connection; what is under way or waiting hears `connectionLost`.
    public func close() {
        end(.connectionLost(sent: true, "closed by this program"), tellsOfLoss: false)
    }

    /// Whether the connection has ended.
    public var isClosed: Bool { handle.isClosed }

    /// Whether the next run would find the connection as a new one: open, idle, outside a transaction.
    var isReusable: Bool { !handle.isClosed && active == nil && handle.isOutsideTransaction }

    /// True if the session takes no writes.
    var isReadOnly: Bool { handle.isReadOnly }

    /// Sets what runs, on the reactor's thread, when the connection ends without `close`.
    func onLoss(_ handler: @escaping @Sendable (PostgresError) -> Void) {
        if handle.isClosed {
            handler(.connectionLost(sent: false, "closed already"))
        } else {
            lossHandler = handler
        }
    }

    /// Sets what runs, on the reactor's thread, with each notification.
    func onNotification(_ handler: @escaping @Sendable (Notification) -> Void) { notificationHandler = handler }

    private func perform(
        _ work: PipelineRequest.Work, until deadline: ContinuousClock.Instant?
    ) async throws(PostgresError) -> [Rows] {
        if let deadline, deadline <= .now { throw .deadlineExceeded }
        let id = nextID
        nextID += 1
        let answer: Result<[Rows], PostgresError> = await withTaskCancellationHandler {
            await withSuspension { caller in
                if Task.isCancelled { return .resume(.failure(.cancelled)) }
                submit(PipelineRequest(id: id, work: work, deadline: deadline) { caller.resume(returning: $0) })
                return .suspend
            }
        } onCancel: {
            // One that comes before the submission is seen by the submission itself.
            reactor.submit { self.assumeIsolated { $0.abandon(id, .cancelled) } }
        }
        return try answer.get()
    }

    /// Has a request done when all before it are.
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
            // The session may be of a server that has become a standby, or of a time when writes were stopped.
            end(.connectionLost(sent: true, "closed, because it takes no writes"), tellsOfLoss: true)
        } else if request.error?.tellsOfStalePlan == true, case .pipeline = request.work {
            // What is prepared here would fail again and again; a new connection prepares it anew.
            end(.connectionLost(sent: true, "closed, because a prepared statement has gone stale"), tellsOfLoss: true)
        }
        // The server gets its next work before the caller gets the answer.
        beginNext()
        request.reply(request.answer)
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
        if let refusal = layOut(calls) {
            request.reply(.failure(.refused(refusal)))
            return
        }
        if !isPipelining {
            guard handle.enterPipelineMode() else { return loseWhileSending(request) }
            isPipelining = true
        }
        request.steps.reserveCapacity(calls.count + 1)
        if isPooled {
            guard handle.sendUnprepared(SessionSettings.prelude, buffer, 0..<0) else {
                return loseWhileSending(request)
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
                    guard handle.sendPrepare(statement) else { return loseWhileSending(request) }
                    request.isSent = true
                    request.steps.append(.prepare(statement))
                }
                guard handle.sendPrepared(statement, buffer, range) else { return loseWhileSending(request) }
            } else {
                guard handle.sendUnprepared(statement, buffer, range) else { return loseWhileSending(request) }
            }
            request.isSent = true
            request.steps.append(.call)
        }
        guard handle.sendSync() else { return loseWhileSending(request) }
        active = request
        flush()
    }

    /// Lays out the parameters in `buffer`, or says why the calls cannot be sent.
    private func layOut(_ calls: [Call]) -> String? {
        buffer.removeAll()
        for call in calls {
            let statement = call.statement
            if call.parameters.count > 65_535 {
                return "\(statement.name) has \(call.parameters.count) parameters; PostgreSQL takes 65535"
            }
            if let sql = prepared[statement.name], sql != statement.sql {
                return "the name \(statement.name) stands for two statements"
            }
            for (index, parameter) in call.parameters.enumerated() where !buffer.append(parameter) {
                return "parameter $\(index + 1) of \(statement.name) holds a NUL character"
            }
        }
        return nil
    }

    private func sendScript(_ sql: String, _ request: inout PipelineRequest) {
        if sql.utf8.contains(0) {
            request.reply(.failure(.refused("the script holds a NUL character")))
            return
        }
        if isPipelining {
            guard handle.exitPipelineMode() else { return loseWhileSending(request) }
            isPipelining = false
        }
        guard handle.sendScript(sql) else { return loseWhileSending(request) }
        request.isSent = true
        active = request
        flush()
    }

    private func loseWhileSending(_ request: PipelineRequest) {
        active = request
        lose()
    }

    private func flush() {
        guard let isDone = handle.flush() else { return lose() }
        if isDone == isFlushing {
            isFlushing = !isDone
            if let watch { reactor.setWriting(isFlushing, of: watch) }
        }
    }

    private func socketIsReady() {
        // Reading comes first even when there is much to write: a server that waits for us to read reads nothing.
        // libpq adds to its message when it is asked for more after the end.
        let ending = handle.consumeInput() ? nil : handle.errorMessage
        readResults()
        while let notification = handle.nextNotification() { notificationHandler?(notification) }
        if ending != nil || handle.isBad {
            lose(ending)
        } else if isFlushing {
            flush()
        }
    }

    private func readResults() {
        while active != nil, !handle.isBusy {
            let outcome: PipelineRequest.Outcome
            if let result = handle.nextResult() {
                // libpq makes up an error of its own when the connection ends; that is no answer of the server.
                if handle.isBad, result.error.sqlState.rawValue.isEmpty { return }
                let kind = result.kind
                outcome = active?.take(kind, result) ?? .more
            } else {
                outcome = active?.takeEnd() ?? .more
            }
            switch outcome {
            case .more: break
            case .prepared(let statement): prepared[statement.name] = statement.sql
            case .finished: if let active { finish(active) }
            case .unusable(let reason): end(.connectionLost(sent: true, reason), tellsOfLoss: true)
            }
        }
    }

    private func wake(by deadline: ContinuousClock.Instant?) {
        guard let deadline, deadline < watchDeadline ?? deadline + .seconds(1), let watch else { return }
        watchDeadline = deadline
        reactor.setDeadline(deadline, of: watch)
    }

    private func deadlineHasCome() {
        watchDeadline = nil
        let now = ContinuousClock.now
        for request in queue where request.deadline.map({ $0 <= now }) ?? false {
            abandon(request.id, .deadlineExceeded)
        }
        if let active, let deadline = active.deadline, deadline <= now { abandon(active.id, .deadlineExceeded) }
        wake(by: active?.deadline)
        for request in queue { wake(by: request.deadline) }
    }

    /// Answers a caller before the server has; a request that was under way takes the connection with it.
    func abandon(_ id: Int, _ error: PostgresError) {
        if let index = queue.firstIndex(where: { $0.id == id }) {
            queue.remove(at: index).reply(.failure(error))
        } else if let request = active, request.id == id {
            active = nil
            cancelHandle.take()?.cancelInBackground()
            end(.connectionLost(sent: true, "closed, because a run was given up: \(error)"), tellsOfLoss: true)
            request.reply(.failure(error))
        }
    }

    /// The connection has ended by itself.
    private func lose(_ ending: String? = nil) {
        var reason = ending ?? handle.errorMessage
        // Why, in the server's words, where it still said so.
        if let last = active?.error, last.endsConnection { reason = last.description }
        if reason.isEmpty { reason = "the server closed the connection" }
        end(.connectionLost(sent: true, reason), tellsOfLoss: true)
    }

    private func end(_ error: PostgresError, tellsOfLoss: Bool) {
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
        if tellsOfLoss { handler?(error) }
        if let ended { ended.reply(.failure(.connectionLost(sent: ended.isSent, reason))) }
        for request in waiting { request.reply(.failure(.connectionLost(sent: false, reason))) }
    }
}
