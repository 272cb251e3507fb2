import Messaging
import NIOCore
import Threads

/// A connection as its task sees it: lines in, the session's answers out, strictly in order.
actor Connection {
    private let handler: NIOLoopBound<ConnectionHandler>
    private nonisolated let outlet: ConnectionOutlet
    private let channel: any Channel

    /// How many requests the session was given.
    private var requests = 0

    /// The line at work, whose storage nothing holds any longer than that.
    private var work: LineWork?

    /// The connection's event loop: what the task shares with the handler is touched without a change of threads.
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The channel, which this actor holds, keeps its event loop for as long as it lives.
        unsafe channel.eventLoop.executor.asUnownedSerialExecutor()
    }

    /// What the connection's tasks prefer.
    nonisolated var taskExecutor: LoopTaskExecutor { self.outlet.loop.taskExecutor }

    init(handler: NIOLoopBound<ConnectionHandler>, outlet: ConnectionOutlet, channel: any Channel) {
        self.handler = handler
        self.outlet = outlet
        self.channel = channel
    }

    /// Serves the connection until it is closed.
    func run(_ sessions: any SessionFactory) async {
        if await self.isOpened() { await self.converse(sessions) }
        // The goodbye may still be on its way: the server is not done before the connection is.
        try? await self.channel.closeFuture.get()
    }

    private func isOpened() async -> Bool {
        await suspended { caller in
            self.handler.value.whenOpen(caller)
            return .kept
        }
    }

    private func converse(_ sessions: any SessionFactory) async {
        let session = sessions.makeSession(
            outlet: self.outlet, peerAddress: self.handler.value.peerAddress ?? "")
        while let work = await self.next() {
            switch work {
            case .take(.line(let line)): self.performApart(line, session)
            case .take(.tooLong): self.refuseTooLong()
            case .take(.endless): self.outlet.goodbye(.lineTooLong)
            case .giveUp: self.giveUp()
            }
            if self.work == nil { self.handler.value.done(self.handler.value.turn) }
        }
        await session.close()
    }

    /// In a task of its own, whose memory goes with it: the connection's lives as long as the connection, and would keep
    /// for all that time what its deepest request took.
    private func performApart(_ line: ByteBuffer, _ session: any LineSession) {
        let turn = self.handler.value.turn
        let task = Task(executorPreference: self.taskExecutor) { await self.perform(line, turn, session) }
        self.work = LineWork(line: line, task: task)
    }

    /// What comes next. The request at work, if there is one, is cancelled with this.
    private func next() async -> ConnectionHandler.Work? {
        let task = self.work?.task
        return await withTaskCancellationHandler {
            await suspended { caller in
                self.handler.value.next(caller)
                return .kept
            }
        } onCancel: {
            task?.cancel()
        }
    }

    private func refuseTooLong() {
        let maximum = self.handler.value.maxLineBytes
        let error = ProtocolError(.lineTooLong, "A line has at most \(maximum) bytes; this one was discarded.")
        self.handler.value.answer(.failure(error), id: .null, isWhole: true)
    }

    private func perform(_ line: ByteBuffer, _ turn: Int, _ session: any LineSession) async {
        var hooks: [@Sendable () async -> Void] = []
        switch Envelope(line) {
        case .single(let item):
            guard await self.perform(item, isWhole: true, turn, session, &hooks) else { return }
        case .batch(let items):
            for item in items {
                // As between lines: the next request waits until the client has made room for its answer.
                await suspended { caller in
                    if self.handler.value.hasRoom { return .over(()) }
                    self.handler.value.whenRoom(caller)
                    return .kept
                }
                if self.handler.value.isLeaving { break }
                guard await self.perform(item, isWhole: false, turn, session, &hooks) else { return }
            }
            self.handler.value.endBatch()
        }
        for hook in hooks {
            self.handler.value.requestBegan = .now()
            await hook()
            guard turn == self.handler.value.turn else { return }
        }
        self.handler.value.requestBegan = nil
        self.work = nil
        self.handler.value.done(turn)
    }

    /// Has a request done, and writes its answer.
    ///
    /// - Parameter isWhole: whether its answer is a line, and not a part of a batch's.
    /// - Returns: false where the line was given up meanwhile.
    private func perform(
        _ item: Envelope.Item, isWhole: Bool, _ turn: Int, _ session: any LineSession,
        _ hooks: inout [@Sendable () async -> Void]
    ) async -> Bool {
        let answer: Answer
        switch item.content {
        case .success(let request):
            self.requests += 1
            self.handler.value.requestBegan = .now()
            answer = await session.answer(request, self.lastRequest)
            guard turn == self.handler.value.turn else { return false }
            self.handler.value.requestBegan = nil
        case .failure(let error):
            answer = Answer(.failure(error))
        }
        self.work?.answered += 1
        if let id = item.id { self.handler.value.answer(answer.content, id: id, isWhole: isWhole) }
        if let hook = answer.afterWriting { hooks.append(hook) }
        return true
    }

    /// The last request that the session was given.
    private var lastRequest: RequestID { RequestID(connection: self.handler.value.number, number: self.requests) }

    /// Answers all that is still owed for the line at work, whose task may go on for ever.
    private func giveUp() {
        guard let work = self.work else { return }
        self.work = nil
        work.task.cancel()
        let (items, isWhole) =
            switch Envelope(work.line) {
            case .single(let item): ([item], true)
            case .batch(let items): (items, false)
            }
        let overdue = items[min(work.answered, items.count - 1)]
        let error = self.handler.value.server.gaveUp(self.lastRequest, overdue)
        for item in items.dropFirst(work.answered) {
            if let id = item.id { self.handler.value.answer(.failure(error), id: id, isWhole: isWhole) }
        }
        self.handler.value.endBatch()
    }
}

/// A line that is being done.
private struct LineWork {
    let line: ByteBuffer
    let task: Task<Void, Never>

    /// How many of its requests are done, and answered where they are to be.
    var answered = 0
}
