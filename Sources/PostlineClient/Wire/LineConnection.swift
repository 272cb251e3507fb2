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

    /// What comes unasked.
    enum Push: Sendable {
        case changes(Changes)
        /// What was not pushed is to be asked for, from this cursor on.
        case lagged(cursor: String)
        case ping(cursor: String?)
    }

    struct Hello: Sendable, Decodable {
        var server: String
        var protocolVersion: Int
        var features: [String]?

        enum CodingKeys: String, CodingKey {
            case server, features
            case protocolVersion = "protocol"
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
        let channel = try await connector.connect(to: server, inbox: inbox, timeout: timeout)
        do {
            let first = try await inbox.first(within: timeout, closing: channel)
            guard let line = try? WireJSON.decode(Line.self, from: first) else { throw Self.notPostline(server) }
            switch line.method {
            case "server.hello":
                guard let hello = try? WireJSON.decode(Carried<Hello>.self, from: first).value(),
                    hello.server == "postline"
                else { throw Self.notPostline(server) }
                let connection = LineConnection(channel, hello)
                await connection.listen(to: inbox)
                return connection
            case "server.goodbye":
                let goodbye = try? WireJSON.decode(Carried<Goodbye>.self, from: first).value()
                throw PostlineError(
                    .offline, goodbye?.message ?? "The server closed the connection.", isRetryable: true)
            default:
                throw Self.notPostline(server)
            }
        } catch {
            channel.close(promise: nil)
            throw error
        }
    }

    private static func notPostline(_ server: Server) -> PostlineError {
        PostlineError(.notTrusted, "What answers at \(server.host):\(server.port) is not a Postline server.")
    }

    private init(_ channel: any Channel, _ hello: Hello) {
        self.channel = channel
        self.hello = hello
        (pushes, push) = AsyncStream.makeStream()
    }

    private func listen(to inbox: Inbox) {
        inbox.deliver(to: self)
    }

    /// Calls a method, and reads its answer.
    ///
    /// - Throws: ``PostlineError``: the server's, or `offline` where the connection was lost first: it may have been done.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: some Encodable & Sendable, as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        let data = try await call(method, params)
        do {
            return try WireJSON.decode(Carried<Answer>.self, from: data).value()
        } catch {
            throw PostlineError(.malformedAnswer, "The server's answer to \(method) cannot be understood: \(error)")
        }
    }

    private func call(_ method: String, _ params: some Encodable & Sendable) async throws -> Data {
        lastID += 1
        let id = lastID
        var line = try WireJSON.encode(Request(id: id, method: method, params: params))
        line.append(UInt8(ascii: "\n"))
        let bytes = ByteBuffer(bytes: line)
        return try await suspended { caller -> Suspension<Result<Data, PostlineError>> in
            guard !isClosed else { return .over(.failure(lost)) }
            calls[id] = caller
            channel.writeAndFlush(bytes, promise: nil)
            return .kept
        }.get()
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
        guard let line = try? WireJSON.decode(Line.self, from: data) else { return close() }
        if let id = line.id {
            guard let caller = calls.removeValue(forKey: id) else { return }
            caller.resume(returning: line.error.map { .failure($0.error) } ?? .success(data))
            return
        }
        // A method that this version does not know is none of its business.
        do {
            switch line.method {
            case "changes": push.yield(.changes(try WireJSON.decode(Carried<Changes>.self, from: data).value()))
            case "sync.lagged":
                push.yield(.lagged(cursor: try WireJSON.decode(Carried<Cursor>.self, from: data).value().cursor ?? ""))
            case "server.ping":
                push.yield(.ping(cursor: try WireJSON.decode(Carried<Cursor>.self, from: data).value().cursor))
            case "server.goodbye": goodbye = try WireJSON.decode(Carried<Goodbye>.self, from: data).value()
            default: break
            }
        } catch {
            // What cannot be understood cannot be applied either: the next connection asks for it anew.
            close()
        }
    }

    /// The connection is over.
    func closed() {
        isClosed = true
        for caller in calls.values { caller.resume(returning: .failure(lost)) }
        calls = [:]
        push.finish()
    }

    private var lost: PostlineError {
        PostlineError(.offline, goodbye?.message ?? "The connection to the server was lost.", isRetryable: true)
    }
}

/// A request.
private struct Request<Params: Encodable>: Encodable {
    let jsonrpc = "2.0"
    let id: Int
    let method: String
    let params: Params
}

/// What a line is, without what it carries.
private struct Line: Decodable {
    var id: Int?
    var method: String?
    var error: WireError?
}

/// What a line carries.
private struct Carried<Value: Decodable>: Decodable {
    var params: Value?
    var result: Value?

    /// What there is, whichever it is.
    func value() throws -> Value {
        guard let value = params ?? result else {
            throw DecodingError.valueNotFound(
                Value.self, .init(codingPath: [], debugDescription: "neither a result nor params"))
        }
        return value
    }
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
