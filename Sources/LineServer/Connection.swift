import Messaging
import NIOCore

/// A connection as its task sees it: lines in, the session's answers out, strictly in order.
actor Connection {
    private let handler: NIOLoopBound<ConnectionHandler>
    private nonisolated let outlet: ConnectionOutlet
    private let channel: any Channel

    /// How many requests the session was given.
    private var requests = 0

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
        await withCheckedContinuation { self.handler.value.whenOpen($0) }
    }

    private func converse(_ sessions: any SessionFactory) async {
        let session = sessions.makeSession(
            outlet: self.outlet, peerAddress: self.handler.value.peerAddress ?? "")
        while let work = await self.next() {
            switch work {
            case .line(let line): await self.performApart(line, session)
            case .tooLong: self.refuseTooLong()
            case .endless: self.outlet.goodbye(.lineTooLong)
            }
        }
        await session.close()
    }

    /// In a task of its own, whose memory goes with it: the connection's lives as long as the connection, and would keep
    /// for all that time what its deepest request took. It has ended when this returns, and is cancelled with it.
    private func performApart(_ line: ByteBuffer, _ session: any LineSession) async {
        let request = Task(executorPreference: self.taskExecutor) { await self.perform(line, session) }
        await withTaskCancellationHandler {
            await request.value
        } onCancel: {
            request.cancel()
        }
    }

    private func next() async -> LineFramer.Event? {
        await withCheckedContinuation { self.handler.value.next($0) }
    }

    private func refuseTooLong() {
        let maximum = self.handler.value.maxLineBytes
        let error = ProtocolError(.lineTooLong, "A line has at most \(maximum) bytes; this one was discarded.")
        var line = ByteBuffer()
        line.writeAnswer(id: .null, .failure(error))
        line.writeStaticString("\n")
        self.handler.value.answer(line)
    }

    private func perform(_ line: ByteBuffer, _ session: any LineSession) async {
        switch Envelope(line) {
        case .single(let item):
            let answer = await self.answer(item, session)
            if let id = item.id {
                var line = ByteBuffer()
                line.writeAnswer(id: id, answer.content)
                line.writeStaticString("\n")
                self.handler.value.answer(line)
            }
            await answer.afterWriting?()
        case .batch(let items):
            var line = ByteBuffer(string: "[")
            var hooks: [@Sendable () async -> Void] = []
            for item in items where !self.handler.value.isLeaving {
                let answer = await self.answer(item, session)
                if let id = item.id {
                    if line.readableBytes > 1 { line.writeStaticString(",") }
                    line.writeAnswer(id: id, answer.content)
                }
                if let hook = answer.afterWriting { hooks.append(hook) }
            }
            if line.readableBytes > 1 {
                line.writeStaticString("]\n")
                self.handler.value.answer(line)
            }
            for hook in hooks { await hook() }
        }
    }

    private func answer(_ item: Envelope.Item, _ session: any LineSession) async -> Answer {
        switch item.content {
        case .success(let request):
            self.requests += 1
            let id = RequestID(connection: self.handler.value.number, number: self.requests)
            return await session.answer(request, id)
        case .failure(let error):
            return Answer(.failure(error))
        }
    }
}
