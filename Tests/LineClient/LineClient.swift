import Foundations
package import Concurrency
package import NIOCore
import NIOPosix
package import WireProtocol

/// One connection to a Postline server with its line protocol (`docs/protocol.md`).
///
/// Concurrent calls are sent in order, and each gets its own response. The actor runs on the connection's event loop,
/// so that a line is read, matched and delivered without a change of threads. A client must be closed.
package actor LineClient {
    /// The server's first line.
    package nonisolated let hello: ServerHello

    /// The server's notifications in order, until the connection ends. For one reader.
    package nonisolated let pushes: AsyncStream<ServerNotification>

    /// Lines that are neither notifications nor responses to `call`, such as responses to `send(line:)`. For one
    /// reader.
    package nonisolated let otherLines: AsyncStream<String>

    /// The reason that the server sent before it closed the connection.
    package private(set) var goodbye: ServerGoodbye?

    /// True if the connection is closed.
    package private(set) var isClosed = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // This actor holds the executor.
        unsafe executor.asUnownedSerialExecutor()
    }

    /// The preferred executor for a task that makes one call after another, so that it does not change threads.
    package nonisolated let executor: LoopExecutor

    private nonisolated let channel: any Channel
    private let pushesSource: AsyncStream<ServerNotification>.Continuation
    private let otherLinesSource: AsyncStream<String>.Continuation
    private let onPush: (@Sendable (ServerNotification) -> Void)?
    private var pending = CircularBuffer<Pending>()
    private var lastID = 0
    private var closeWaiters: [CheckedContinuation<Void, Never>] = []

    private struct Pending {
        let id: Int
        /// Nil after a cancellation: the response still comes and is ignored.
        var caller: CheckedContinuation<Result<ByteBuffer, any Error>, Never>?
    }

    /// Connects, and returns after the server's hello.
    ///
    /// - Parameters:
    ///   - trust: The certificates to trust over TLS, or nil for no encryption.
    ///   - preface: Bytes to send before all others, TLS included, such as a load balancer's PROXY header.
    ///   - framing: The handlers between the lines and the connection, such as a WebSocket's.
    ///   - group: The event loops to run on, by default those of the process.
    ///   - timeout: The time limit for connecting, and again for the hello.
    ///   - onPush: A function to call on the connection's thread for each notification, instead of `pushes`. It must
    ///     not block.
    /// - Throws: `ConnectionError`.
    package static func connect(
        host: String, port: Int, trust: ServerTrust? = nil, preface: [UInt8] = [],
        framing: @escaping @Sendable () -> [any ChannelHandler] = { [] },
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton, timeout: Duration = .seconds(10),
        onPush: (@Sendable (ServerNotification) -> Void)? = nil
    ) async throws -> LineClient {
        let address = "\(host):\(port)"
        let loop = group.any()
        let firstLine = loop.makePromise(of: ByteBuffer.self)
        let limit = TimeAmount(timeout)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .connectTimeout(limit)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        if !preface.isEmpty { try channel.pipeline.syncOperations.addHandler(PrefaceHandler(preface)) }
                        if let trust { try channel.pipeline.syncOperations.addHandler(trust.handler(for: host)) }
                        try channel.pipeline.syncOperations.addHandlers(framing())
                        try channel.pipeline.syncOperations.addHandler(LineHandler(firstLine: firstLine))
                    }
                }
                .connect(host: host, port: port).get()
        } catch {
            firstLine.fail(error)
            throw ConnectionError.unreachable(address: address, reason: Self.reason(error))
        }
        let deadline = loop.scheduleTask(in: limit) { channel.close(promise: nil) }
        defer { deadline.cancel() }
        let first: ByteBuffer?
        do {
            first = try await firstLine.futureResult.get()
        } catch {
            if let reason = ServerTrust.reason(error) {
                throw ConnectionError.notTrusted(address: address, reason: reason)
            }
            first = nil
        }
        guard let line = first, case .notification(let method) = ServerLine(line).kind,
            let text = ServerLine(line).params, case .object(let params)? = try? parsed(text)
        else {
            channel.close(promise: nil)
            throw ConnectionError.notPostline(address: address)
        }
        if method == "server.goodbye" {
            channel.close(promise: nil)
            throw ConnectionError.closed(goodbye: ServerGoodbye(params))
        }
        guard method == "server.hello", let hello = ServerHello(params) else {
            channel.close(promise: nil)
            throw ConnectionError.notPostline(address: address)
        }
        let client = LineClient(channel, hello, onPush)
        try await loop.submit {
            let handler = try channel.pipeline.syncOperations.handler(type: LineHandler.self)
            handler.attach(client)
        }.get()
        return client
    }

    private init(_ channel: any Channel, _ hello: ServerHello, _ onPush: (@Sendable (ServerNotification) -> Void)?) {
        self.channel = channel
        executor = LoopExecutor(channel.eventLoop)
        self.hello = hello
        self.onPush = onPush
        (pushes, pushesSource) = AsyncStream.makeStream()
        (otherLines, otherLinesSource) = AsyncStream.makeStream()
    }

    /// Calls a method and returns its result.
    ///
    /// A cancelled call throws `CancellationError` at once. The server may still execute the request.
    /// - Throws: `RemoteError` for an error response, `ConnectionError.closed` if the connection ends first.
    package func call(_ method: String, _ params: JSONObject = [:]) async throws -> JSON {
        var text = channel.allocator.buffer(capacity: 256)
        params.write(to: &text)
        return try parsed(await answer(to: method, text))
    }

    /// Calls a method with params that are JSON text, and returns the result as JSON text.
    /// - Throws: The errors of `call`.
    package func answer(to method: String, _ params: ByteBuffer) async throws -> ByteBuffer {
        lastID += 1
        let id = lastID
        let answer: Result<ByteBuffer, any Error> = await withTaskCancellationHandler {
            await withSuspension { caller in
                if isClosed { return .resume(.failure(ConnectionError.closed(goodbye: goodbye))) }
                if Task.isCancelled { return .resume(.failure(CancellationError())) }
                pending.append(Pending(id: id, caller: caller))
                write(id: id, method, params)
                return .suspend
            }
        } onCancel: {
            // The task only enters the actor, which may be gone by then, and does not suspend there.
            Task { [weak self] in await self?.cancelCall(id) }
        }
        return try answer.get()
    }

    private func write(id: Int, _ method: String, _ params: ByteBuffer) {
        var line = channel.allocator.buffer(capacity: 64 + method.utf8.count + params.readableBytes)
        line.writeStaticString(#"{"jsonrpc":"2.0","id":"#)
        line.writeString(String(id))
        line.writeStaticString(#","method":"#)
        line.writeJSONString(method)
        line.writeStaticString(#","params":"#)
        line.writeImmutableBuffer(params)
        line.writeStaticString("}\n")
        channel.writeAndFlush(line, promise: nil)
    }

    private func cancelCall(_ id: Int) {
        guard let index = pending.firstIndex(where: { $0.id == id }) else { return }
        let caller = pending[index].caller
        pending[index].caller = nil
        caller?.resume(returning: .failure(CancellationError()))
    }

    /// Sends a line and its line feed.
    package func send(line: String) throws {
        try send(bytes: ByteBuffer(string: line + "\n"))
    }

    /// Sends bytes unchanged.
    package func send(bytes: ByteBuffer) throws {
        guard !isClosed else { throw ConnectionError.closed(goodbye: goodbye) }
        channel.writeAndFlush(bytes, promise: nil)
    }

    /// Stops or resumes reading from the socket, like a client that is too busy.
    package func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(.autoRead, value: isReading).get()
        if isReading { channel.read() }
    }

    /// Closes the sending side. The server still responds to earlier requests, and then closes the connection.
    package func finishSending() async throws {
        try await channel.close(mode: .output).get()
    }

    /// Closes the connection. Pending calls fail.
    package func close() async {
        try? await channel.close().get()
    }

    /// Waits until the connection is closed.
    package func waitUntilClosed() async {
        await withSuspension { caller in
            if isClosed { return .resume(()) }
            closeWaiters.append(caller)
            return .suspend
        }
    }

    func received(_ line: ByteBuffer) {
        let parsedLine = ServerLine(line)
        switch parsedLine.kind {
        case .answer(let id):
            guard let call = removePending(id) else { return yieldOtherLine(line) }
            guard let caller = call.caller else { return }
            if let result = parsedLine.result {
                caller.resume(returning: .success(result))
            } else if let text = parsedLine.error, let error = try? parsed(text) {
                caller.resume(returning: .failure(RemoteError(error)))
            } else {
                caller.resume(
                    returning: .failure(ConnectionError.malformed("an answer has neither a result nor an error")))
            }
        case .notification(let method):
            let push = ServerNotification(
                method: method, text: parsedLine.params ?? ByteBuffer(string: "{}"), received: .now)
            if method == "server.goodbye", let params = try? push.params() { goodbye = ServerGoodbye(params) }
            if let onPush { onPush(push) } else { pushesSource.yield(push) }
        case .other:
            yieldOtherLine(line)
        }
    }

    func connectionClosed() {
        isClosed = true
        for call in pending {
            call.caller?.resume(returning: .failure(ConnectionError.closed(goodbye: goodbye)))
        }
        pending.removeAll()
        pushesSource.finish()
        otherLinesSource.finish()
        for waiter in closeWaiters { waiter.resume() }
        closeWaiters = []
    }

    private func yieldOtherLine(_ line: ByteBuffer) { otherLinesSource.yield(String(buffer: line)) }

    /// Removes and returns the pending call of this response. Responses come in order, so it is nearly always the
    /// first.
    private func removePending(_ id: Int) -> Pending? {
        if pending.first?.id == id { return pending.removeFirst() }
        guard let index = pending.firstIndex(where: { $0.id == id }) else { return nil }
        return pending.remove(at: index)
    }

    /// Returns the system's message for an error, if there is one.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case let error as IOError: unsafe String(cString: strerror(error.errnoCode))
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { reason($0.error) } ?? "its address cannot be found"
        case ChannelError.connectTimeout: "it does not answer"
        default: "\(error)"
        }
    }
}
