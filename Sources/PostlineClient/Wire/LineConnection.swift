import Foundation
import NIOCore
import Threads

/// One connection to the server, speaking its line protocol (`docs/protocol.md`, section 1).
///
/// Calls go out in the order they are made, and each gets its own answer. It lives on its channel's event loop.
actor LineConnection {
    /// What the server sends unasked, in its order, until the connection ends. For one reader.
    nonisolated let pushes: AsyncStream<Push>

    /// What the server said before it closed the connection.
    private(set) var goodbye: Goodbye?

    nonisolated let hello: Hello

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        // The channel, which this actor holds, keeps its event loop for as long as it lives.
        unsafe channel.eventLoop.executor.asUnownedSerialExecutor()
    }

    private nonisolated let channel: any Channel
    private let push: AsyncStream<Push>.Continuation
    private var calls: [Int: CheckedContinuation<Result<Data, PostlineError>, Never>] = [:]
    private var lastID = 0
    private var isClosed = false

    /// Looks now and then whether anything was heard since the last time.
    private var silence: RepeatedTask?
    private var hasReceivedSinceCheck = false
    private var silentIntervals = 0

    /// How many pushes wait for their reader. Beyond some nothing is read: the server bounds what it holds back.
    private(set) var unreadPushes = 0
    private static let maxUnreadPushes = 256

    /// What comes unasked.
    enum Push: Sendable {
        case changes(Changes)
        /// What was not pushed is to be asked for.
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

    /// Connects, and returns when the server has said hello.
    ///
    /// - Throws: ``PostlineError``: `offline`, or `not_trusted` where nobody or no Postline server vouches for itself.
    static func connect(
        to server: Server, by connector: any Connector, timeout: Duration = .seconds(15)
    ) async throws -> LineConnection {
        let inbox = Inbox()
        let opening = connector.connect(to: server, inbox: inbox, timeout: timeout)
        let (channel, first) = try await inbox.firstLine(of: opening, within: timeout)
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
                "What answers at \(server.host):\(server.port) speaks HTTP. Lines have a port of their own, 7432 unless "
                    + "it was set otherwise (POSTLINE_PORT).")
        default:
            channel.close(promise: nil)
            throw PostlineError(
                .notTrusted, "What answers at \(server.host):\(server.port) is not a Postline server.")
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
        // A server that is there pings. Twice as long without a line, and it is gone, whatever the network says.
        guard let seconds = hello.pingSeconds, 1...3_600 ~= seconds else { return }
        silence = channel.eventLoop.scheduleRepeatedTask(
            initialDelay: .seconds(Int64(seconds)), delay: .seconds(Int64(seconds))
        ) { [weak self] _ in self?.assumeIsolated { $0.checkForSilence() } }
    }

    private func checkForSilence() {
        // What is not read for want of a reader is no silence.
        if hasReceivedSinceCheck || unreadPushes >= Self.maxUnreadPushes {
            silentIntervals = 0
        } else {
            silentIntervals += 1
        }
        hasReceivedSinceCheck = false
        if silentIntervals > 1 { close() }
    }

    /// Calls a method, and reads its answer.
    ///
    /// - Throws: ``PostlineError``: the server's, or `offline` where the connection was lost first: it may have been done.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: some Encodable & Sendable, as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        let data = try await call(method, params)
        do {
            return try WireJSON.decode(ResponseLine<Answer>.self, from: data).result
        } catch {
            throw PostlineError(.malformedAnswer, "The server's answer to \(method) cannot be understood: \(error)")
        }
    }

    /// Calls a method whose answer nobody wants.
    func notify(_ method: String, _ params: some Encodable & Sendable) {
        guard !isClosed, var line = try? WireJSON.encode(NotificationLine(method: method, params: params)) else {
            return
        }
        line.append(UInt8(ascii: "\n"))
        channel.writeAndFlush(ByteBuffer(bytes: line), promise: nil)
    }

    /// Closes the connection unless the server answers soon.
    func probe() async { _ = try? await call("server.info", [String: String](), within: .seconds(5)) as Data }

    private func call(
        _ method: String, _ params: some Encodable & Sendable, within limit: Duration = .seconds(30)
    ) async throws -> Data {
        lastID += 1
        let id = lastID
        var line = try WireJSON.encode(RequestLine(id: id, method: method, params: params))
        line.append(UInt8(ascii: "\n"))
        if let most = hello.maximumLineBytes, line.count > most {
            throw PostlineError(
                .lineTooLong, "\(method) is too long: \(line.count) bytes, where the server takes \(most).")
        }
        let bytes = ByteBuffer(bytes: line)
        // A server that takes longer is gone.
        let deadline = channel.eventLoop.scheduleTask(in: limit.timeAmount) { self.close() }
        defer { deadline.cancel() }
        return try await withTaskCancellationHandler {
            await withSuspension { caller -> Suspension<Result<Data, PostlineError>> in
                guard !isClosed, !Task.isCancelled else { return .resume(.failure(connectionLost)) }
                calls[id] = caller
                channel.writeAndFlush(bytes, promise: nil)
                return .suspend
            }
        } onCancel: {
            // The answer is nobody's any more; whether it was done is not known.
            channel.eventLoop.execute { self.assumeIsolated { $0.cancelCall(id) } }
        }.get()
    }

    private func cancelCall(_ id: Int) {
        calls.removeValue(forKey: id)?.resume(
            returning: .failure(PostlineError(.offline, "The call was cancelled.", isRetryable: true)))
    }

    /// The reader of pushes has got one of them.
    func didReadPush() {
        if unreadPushes == Self.maxUnreadPushes { _ = channel.setOption(.autoRead, value: true) }
        unreadPushes -= 1
    }

    /// Closes the connection. What is not answered is given up.
    nonisolated func close() {
        channel.close(promise: nil)
    }

    /// Waits until the connection is over.
    nonisolated func ended() async {
        try? await channel.closeFuture.get()
    }

    /// A line from the server.
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
        // What cannot be understood cannot be applied either: the next connection asks for it anew.
        case nil: close()
        }
    }

    /// The connection is over.
    func closed() {
        isClosed = true
        silence?.cancel()
        for caller in calls.values { caller.resume(returning: .failure(connectionLost)) }
        calls = [:]
        push.finish()
    }

    private var connectionLost: PostlineError {
        PostlineError(.offline, goodbye?.message ?? "The connection to the server was lost.", isRetryable: true)
    }
}

/// A request.
private struct RequestLine<Params: Encodable>: Encodable {
    let jsonrpc = "2.0"
    let id: Int
    let method: String
    let params: Params
}

/// A request without an answer.
private struct NotificationLine<Params: Encodable>: Encodable {
    let jsonrpc = "2.0"
    let method: String
    let params: Params
}

/// A line from the server.
private enum IncomingLine: Decodable {
    /// Its result is read by who waits for it.
    case answer(id: Int, WireError?)
    case push(LineConnection.Push)
    case hello(LineConnection.Hello)
    case goodbye(LineConnection.Goodbye)
    /// A method that this version does not know is none of its business.
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
            case "server.ping": .push(.ping(cursor: try params(Cursor.self).cursor))
            case "typing": .push(.typing(try params()))
            case "server.hello": .hello(try params())
            case "server.goodbye": .goodbye(try params())
            default: .unknown
            }
    }
}

/// An answer that is no error.
private struct ResponseLine<Result: Decodable>: Decodable {
    var result: Result
}

private struct Cursor: Decodable {
    var cursor: String?
}

/// An error as the protocol has it (`docs/protocol.md`, section 2).
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
            data?.code ?? "unknown", message ?? "The server gave an error without a message.",
            isRetryable: data?.retryable ?? false, field: data?.field, retryAfter: data?.retryAfter,
            retryAt: data?.retryAt)
    }
}
