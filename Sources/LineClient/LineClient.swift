package import EventLoops
public import Messaging
public import NIOCore
public import NIOPosix
internal import Threads

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One connection to a Postline server, speaking its line protocol (`docs/protocol.md`).
///
/// Calls may be made from many tasks at once: they go out in the order they are made, and each gets its own answer.
/// The actor lives on its connection's event loop, so that a line is read, matched and handed on without a change of
/// threads. A client that is no longer needed is to be closed.
public actor LineClient {
    /// What the server said first.
    public nonisolated let hello: ServerHello

    /// What the server sends unasked, in its order, from the first on, and ending with the connection. For one reader.
    public nonisolated let pushes: AsyncStream<ServerNotification>

    /// Lines that are neither pushes nor answers to `call`: what was sent by `send(line:)` is answered here. For one reader.
    public nonisolated let otherLines: AsyncStream<String>

    /// What the server said before it closed the connection.
    public private(set) var goodbye: ServerGoodbye?

    /// Whether the connection is over.
    public private(set) var isClosed = false

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // This actor holds the executor.
        unsafe executor.asUnownedSerialExecutor()
    }

    /// What a task is to prefer that asks one thing after another: it changes no threads then.
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
        /// Nil once the caller was cancelled: the answer still comes, and goes nowhere.
        var caller: CheckedContinuation<Result<ByteBuffer, any Error>, Never>?
    }

    /// Connects, and returns when the server has said hello.
    ///
    /// - Parameters:
    ///   - trust: whom to trust over TLS; nil: lines are not encrypted.
    ///   - preface: goes out before all else, TLS included: what a balancer says, such as a PROXY header.
    ///   - framing: what stands between the lines and the connection, such as a WebSocket's frames.
    ///   - group: the threads to run on; the process's own by default.
    ///   - timeout: how long connecting, and then waiting for the hello, may each take.
    ///   - onPush: called on the connection's thread for each notification, in place of `pushes`; it must not block.
    /// - Throws: `ConnectionError`.
    public static func connect(
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
        guard let line = first, case .notification(let method) = Envelope(line).kind,
            let text = Envelope(line).params, case .object(let params)? = try? parsed(text)
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

    /// Calls a method and waits for its result.
    ///
    /// A cancelled caller gets `CancellationError` at once; whether the server does what it was asked for is open then.
    /// - Throws: `RemoteError` where the server answers with an error, `ConnectionError.closed` where it does not answer.
    public func call(_ method: String, _ params: JSONObject = [:]) async throws -> JSON {
        var text = channel.allocator.buffer(capacity: 256)
        params.write(to: &text)
        return try parsed(await answer(to: method, text))
    }

    /// Calls a method with params that are JSON text already, and gives the result as JSON text.
    /// - Throws: as `call`.
    public func answer(to method: String, _ params: ByteBuffer) async throws -> ByteBuffer {
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
            // Only hops to the actor, which may be gone by then; what it does there is done at once.
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

    /// Sends a line as it is, with a line end behind it.
    public func send(line: String) throws {
        try send(bytes: ByteBuffer(string: line + "\n"))
    }

    /// Sends bytes as they are.
    public func send(bytes: ByteBuffer) throws {
        guard !isClosed else { throw ConnectionError.closed(goodbye: goodbye) }
        channel.writeAndFlush(bytes, promise: nil)
    }

    /// Stops or resumes reading from the socket, as a client does that is too busy.
    public func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(.autoRead, value: isReading).get()
        if isReading { channel.read() }
    }

    /// Ends our side of the stream: what was asked for is still answered, and the server then closes.
    public func finishSending() async throws {
        try await channel.close(mode: .output).get()
    }

    /// Closes the connection; calls that wait for an answer fail.
    public func close() async {
        try? await channel.close().get()
    }

    /// Returns when the connection is over.
    public func waitUntilClosed() async {
        await withSuspension { caller in
            if isClosed { return .resume(()) }
            closeWaiters.append(caller)
            return .suspend
        }
    }

    func received(_ line: ByteBuffer) {
        let envelope = Envelope(line)
        switch envelope.kind {
        case .answer(let id):
            guard let call = removePending(id) else { return yieldOtherLine(line) }
            guard let caller = call.caller else { return }
            if let result = envelope.result {
                caller.resume(returning: .success(result))
            } else if let text = envelope.error, let error = try? parsed(text) {
                caller.resume(returning: .failure(RemoteError(error)))
            } else {
                caller.resume(
                    returning: .failure(ConnectionError.malformed("an answer has neither a result nor an error")))
            }
        case .notification(let method):
            let push = ServerNotification(
                method: method, text: envelope.params ?? ByteBuffer(string: "{}"), received: .now)
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

    /// Takes out the call that this answers. Answers come in the order of the requests, so it is nearly always the first.
    private func removePending(_ id: Int) -> Pending? {
        if pending.first?.id == id { return pending.removeFirst() }
        guard let index = pending.firstIndex(where: { $0.id == id }) else { return nil }
        return pending.remove(at: index)
    }

    /// The system's own sentence where there is one.
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
