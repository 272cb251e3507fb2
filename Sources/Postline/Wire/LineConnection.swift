import Foundation
import NIOCore
import Concurrency

/// One connection to the server with its line protocol (`docs/protocol.md`, section 1).
///
/// Requests are sent in the order of the calls, and each call gets its own response. The actor runs on its channel's
/// event loop.
actor LineConnection {
    /// The server's pushes in order, until the connection ends. For one reader.
    nonisolated let pushes: AsyncStream<Push>

    /// The reason that the server sent before it closed the connection.
    private(set) var goodbye: Goodbye?

    nonisolated let hello: Hello

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The actor holds the channel, which keeps its event loop alive.
        unsafe channel.eventLoop.executor.asUnownedSerialExecutor()
    }

    private nonisolated let channel: any Channel
    private let push: AsyncStream<Push>.Continuation
    private var calls: [Int: CheckedContinuation<Result<Data, PostlineError>, Never>] = [:]
    private var lastID = 0
    private(set) var isClosed = false

    /// True if no call waits for its response.
    var isIdle: Bool { calls.isEmpty }

    /// A periodic check that the server has sent something since the last check.
    private var silenceCheck: RepeatedTask?
    private var hasReceivedSinceCheck = false
    private var silentIntervals = 0

    /// The number of pushes that wait for their reader. Above the limit the channel stops reading, and the server's own
    /// limits apply.
    private(set) var unreadPushes = 0
    private static let maxUnreadPushes = 256

    /// A push of the server.
    enum Push: Sendable {
        case changes(Changes)
        /// The server skipped changes. The client must sync again.
        case lagged
        case ping(cursor: String?)
        case typing(WireTyping)
    }

    struct Hello: Sendable, Decodable {
        var server: String
        var protocolVersion: Int
        var features: [String]?
        var maximumLineBytes: Int?
        var pingSeconds: Int?

        enum CodingKeys: String, CodingKey {
            case server, features
            case protocolVersion = "protocol"
            case maximumLineBytes = "max_line_bytes"
            case pingSeconds = "ping_seconds"
        }
    }

    struct Goodbye: Sendable, Decodable, Hashable {
        var code: String
        var message: String
        var reconnect: Bool
    }

    /// Connects, and returns after the server's hello.
    ///
    /// - Throws: ``PostlineError``: `offline`, or `not_trusted` if the server is not a Postline server or its
    ///   certificate is not trusted.
    static func connect(
        to server: Server, by connector: any Connector, timeout: Duration = .seconds(15)
    ) async throws(PostlineError) -> LineConnection {
        let inbox = Inbox()
        let opening = connector.connect(to: server, inbox: inbox, timeout: timeout)
        let (channel, first) = try await convertingErrors {
            try await inbox.firstLine(of: opening, within: timeout)
        }
        switch try? WireJSON.decode(IncomingLine.self, from: first) {
        case .hello(let hello) where hello.server == "postline":
            let connection = LineConnection(channel, hello)
            await connection.listen(to: inbox)
            return connection
        case .goodbye(let goodbye):
            channel.close(promise: nil)
            throw PostlineError(.offline, goodbye.message, isRetryable: true)
        case nil where first.starts(with: "HTTP/".utf8):
            channel.close(promise: nil)
            throw PostlineError(
                .notTrusted,
                "The server at \(server.host):\(server.port) speaks HTTP. The line protocol has a separate port, 7432 by "
                    + "default (POSTLINE_PORT).")
        default:
            channel.close(promise: nil)
            throw PostlineError(
                .notTrusted, "The server at \(server.host):\(server.port) is not a Postline server.")
        }
    }

    private init(_ channel: any Channel, _ hello: Hello) {
        self.channel = channel
        self.hello = hello
        (pushes, push) = AsyncStream.makeStream()
    }

    private func listen(to inbox: Inbox) {
        _ = channel.setOption(.autoRead, value: true)
        inbox.deliver(to: self)
        // The server pings at this interval. After twice the interval without a line it is gone, whatever the network
        // reports.
        guard let seconds = hello.pingSeconds, 1...3_600 ~= seconds else { return }
        silenceCheck = channel.eventLoop.scheduleRepeatedTask(
            initialDelay: .seconds(Int64(seconds)), delay: .seconds(Int64(seconds))
        ) { [weak self] _ in self?.assumeIsolated { $0.checkForSilence() } }
    }

    private func checkForSilence() {
        // A pause of reading is not silence of the server.
        if hasReceivedSinceCheck || unreadPushes >= Self.maxUnreadPushes {
            silentIntervals = 0
        } else {
            silentIntervals += 1
        }
        hasReceivedSinceCheck = false
        if silentIntervals > 1 { close() }
    }

    /// Calls a method and decodes its result.
    ///
    /// - Throws: ``PostlineError``: the server's error; `offline` if the connection was lost first; `cancelled`. The
    ///   server may then have executed the request.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: some Encodable & Sendable, as type: Answer.Type = Answer.self
    ) async throws(PostlineError) -> Answer {
        let data = try await call(method, params)
        do {
            return try WireJSON.decode(ResponseLine<Answer>.self, from: data).result
        } catch {
            throw PostlineError(.malformedAnswer, "The response to \(method) cannot be decoded: \(error)")
        }
    }

    /// Sends a notification, a request without a response.
    func notify(_ method: String, _ params: some Encodable & Sendable) {
        guard !isClosed, var line = try? WireJSON.encode(NotificationLine(method: method, params: params)) else {
            return
        }
        line.append(UInt8(ascii: "\n"))
        channel.writeAndFlush(ByteBuffer(bytes: line), promise: nil)
    }

    /// Closes the connection unless the server responds within 5 s.
    func probe() async { _ = try? await call("server.info", [String: String](), within: .seconds(5)) as Data }

    private func call(
        _ method: String, _ params: some Encodable & Sendable, within limit: Duration = .seconds(30)
    ) async throws(PostlineError) -> Data {
        lastID += 1
        let id = lastID
        var line = try convertingErrors { try WireJSON.encode(RequestLine(id: id, method: method, params: params)) }
        line.append(UInt8(ascii: "\n"))
        if let most = hello.maximumLineBytes, line.count > most {
            throw PostlineError(
                .lineTooLong, "The request \(method) has \(line.count) bytes, and the server allows \(most).")
        }
        let bytes = ByteBuffer(bytes: line)
        // A server that takes longer is considered gone.
        let deadline = channel.eventLoop.scheduleTask(in: limit.timeAmount) { self.close() }
        defer { deadline.cancel() }
        return try await withTaskCancellationHandler {
            await withSuspension { caller -> Suspension<Result<Data, PostlineError>> in
                if Task.isCancelled { return .resume(.failure(PostlineError(converting: CancellationError()))) }
                guard !isClosed else { return .resume(.failure(connectionLost)) }
                calls[id] = caller
                channel.writeAndFlush(bytes, promise: nil)
                return .suspend
            }
        } onCancel: {
            // The response is ignored. The server may have executed the request.
            channel.eventLoop.execute { self.assumeIsolated { $0.cancelCall(id) } }
        }.get()
    }

    private func cancelCall(_ id: Int) {
        calls.removeValue(forKey: id)?.resume(
            returning: .failure(PostlineError(converting: CancellationError())))
    }

    /// Records that the reader has taken a push, and resumes reading.
    func didReadPush() {
        if unreadPushes == Self.maxUnreadPushes { _ = channel.setOption(.autoRead, value: true) }
        unreadPushes -= 1
    }

    /// Closes the connection. Pending calls fail.
    nonisolated func close() {
        channel.close(promise: nil)
    }

    /// Handles a line from the server.
    func received(_ data: Data) {
        hasReceivedSinceCheck = true
        switch try? WireJSON.decode(IncomingLine.self, from: data) {
        case .answer(let id, let error):
            calls.removeValue(forKey: id)?.resume(returning: error.map { .failure($0.error) } ?? .success(data))
        case .push(let pushed):
            unreadPushes += 1
            if unreadPushes == Self.maxUnreadPushes { _ = channel.setOption(.autoRead, value: false) }
            push.yield(pushed)
        case .goodbye(let goodbye): self.goodbye = goodbye
        case .hello, .unknown: break
        // A line that cannot be decoded cannot be applied. The next connection syncs again.
        case nil: close()
        }
    }

    /// Handles the end of the connection.
    func closed() {
        isClosed = true
        silenceCheck?.cancel()
        for caller in calls.values { caller.resume(returning: .failure(connectionLost)) }
        calls = [:]
        push.finish()
    }

    private var connectionLost: PostlineError {
        PostlineError(.offline, goodbye?.message ?? "The connection to the server was lost.", isRetryable: true)
    }
}

/// A JSON-RPC request.
private struct RequestLine<Params: Encodable>: Encodable {
    let jsonrpc = "2.0"
    let id: Int
    let method: String
    let params: Params
}

/// A JSON-RPC notification.
private struct NotificationLine<Params: Encodable>: Encodable {
    let jsonrpc = "2.0"
    let method: String
    let params: Params
}

/// A decoded line from the server.
private enum IncomingLine: Decodable {
    /// A response. The caller decodes its result.
    case answer(id: Int, WireError?)
    case push(LineConnection.Push)
    case hello(LineConnection.Hello)
    case goodbye(LineConnection.Goodbye)
    /// A method that this version does not know. It is ignored.
    case unknown

    private enum CodingKeys: CodingKey {
        case id, error, method, params
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func params<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try members.decode(type, forKey: .params)
        }
        if let id = try members.decodeIfPresent(Int.self, forKey: .id) {
            self = .answer(id: id, try members.decodeIfPresent(WireError.self, forKey: .error))
            return
        }
        self =
            switch try members.decodeIfPresent(String.self, forKey: .method) {
            case "changes": .push(.changes(try params()))
            case "sync.lagged": .push(.lagged)
            case "server.ping": .push(.ping(cursor: try params(PingParams.self).cursor))
            case "typing": .push(.typing(try params()))
            case "server.hello": .hello(try params())
            case "server.goodbye": .goodbye(try params())
            default: .unknown
            }
    }
}

/// A response with a result.
private struct ResponseLine<Result: Decodable>: Decodable {
    var result: Result
}

/// The params of `server.ping`.
private struct PingParams: Decodable {
    var cursor: String?
}

/// The protocol's error object (`docs/protocol.md`, section 2).
private struct WireError: Decodable {
    var message: String?
    var data: Details?

    struct Details: Decodable {
        var code: PostlineError.Code?
        var retryable: Bool?
        var field: String?
        var retryAfter: Double?
        var retryAt: Date?

        enum CodingKeys: String, CodingKey {
            case code, retryable, field
            case retryAfter = "retry_after"
            case retryAt = "retry_at"
        }
    }

    var error: PostlineError {
        PostlineError(
            data?.code ?? "unknown", message ?? "The server sent an error without a message.",
            isRetryable: data?.retryable ?? false, field: data?.field, retryAfter: data?.retryAfter,
            retryAt: data?.retryAt)
    }
}
