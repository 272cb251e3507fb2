import BoundedWait
import FoundationEssentials
import LineClient
import WireProtocol

/// A guest of the composed system that reconnects with its cursor, to the node that the balancer chooses.
actor ComposeClient {
    nonisolated let name: String
    private(set) var userID = ""
    private(set) var held = ClientState()

    /// The number of reconnects.
    private(set) var reconnects = 0

    /// The number of retryable errors and lost connections.
    private(set) var retries = 0

    /// The violated guarantees that this client saw.
    private(set) var violations: [String] = []

    private let address: ComposedSystem.Address
    private var accessToken: JSON?
    private var cursor: JSON?
    private var line: LineClient?
    private var changed = ChangeSignal()

    /// The conversations with messages that are still to be fetched.
    private var limited: Set<String> = []

    init(_ name: String, at address: ComposedSystem.Address) {
        self.name = name
        self.address = address
    }

    /// Runs a body with connected clients, each with an account of its own.
    ///
    /// - Throws: The error of `body`, or `CheckFailure` if a client saw a violated guarantee.
    static func with(
        _ count: Int, at address: ComposedSystem.Address,
        _ body: @escaping @Sendable ([ComposeClient]) async throws -> Void
    ) async throws {
        let clients = (1...count).map { ComposeClient("Client \($0)", at: address) }
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for client in clients { tasks.addTask { await client.run() } }
            defer { tasks.cancelAll() }
            for client in clients {
                try await within("\(client.name)'s first connection") { _ = try await client.connected() }
            }
            try await body(clients)
            tasks.cancelAll()
            for client in clients { await client.disconnect() }
        }
        for client in clients {
            let violations = await client.violations
            try expect(violations.isEmpty, "\(client.name): \(violations.joined(separator: "; "))")
        }
    }

    /// Connects, applies changes, and reconnects, until it is cancelled.
    private func run() async {
        while !Task.isCancelled {
            do {
                let line = try await connect()
                self.line = line
                changed.signal()
                for await push in line.pushes {
                    switch push.method {
                    case "changes": try await take(.object(try push.params()), on: line)
                    case "server.ping": cursor = try push.params()["cursor"] ?? cursor
                    default: break
                    }
                }
            } catch let error as RemoteError where !error.isRetryable {
                violations.append("\(error)")
                changed.signal()
            } catch {
                // The loop reconnects.
            }
            await disconnect()
            try? await Task.sleep(for: .milliseconds(Int.random(in: 20...200)))
        }
    }

    private func connect() async throws -> LineClient {
        let line = try await LineClient.connect(host: address.host, port: address.port)
        do {
            if let accessToken {
                _ = try await line.call("session.authenticate", ["access_token": accessToken])
            } else {
                let tokens = try await line.call("auth.guest", ["full_name": .string(name)])
                userID = tokens.text("user_id")
                accessToken = tokens["access_token"]
            }
            let isReturning = cursor != nil
            if isReturning { reconnects += 1 }
            var isMore = true
            while isMore {
                let page = try await line.call("sync.open", cursor.map { ["cursor": $0] } ?? [:])
                if isReturning, page["reset"] == .bool(true) { violations.append("its cursor was not continued") }
                try await take(page, on: line)
                isMore = page["more"] == .bool(true)
            }
            return line
        } catch {
            await line.close()
            throw error
        }
    }

    private func take(_ changes: JSON, on line: LineClient) async throws {
        violations += held.apply(changes)
        // The cursor is stored with the list of gaps, so that gaps left open now are closed after a reconnect.
        cursor = changes["cursor"] ?? cursor
        limited.formUnion(changes.list("limited").compactMap(\.stringValue))
        while let conversation = limited.first {
            while let gap = held.gap(in: conversation) {
                let page = try await line.call(
                    "messages.list",
                    ["conversation_id": .string(conversation), "after_seq": .integer(gap - 1), "limit": .integer(200)])
                held.fill(conversation, page.list("messages"))
            }
            limited.remove(conversation)
        }
        changed.signal()
    }
}

extension ComposeClient {
    /// Returns the connection once it is live.
    func connected() async throws -> LineClient {
        while true {
            if let line { return line }
            try await waitForChange()
        }
    }

    /// Waits until the client has reconnected more than `reconnects` times.
    func waitForReconnect(after reconnects: Int) async throws {
        try await within("\(name)'s return") { [self] in try await wait(forReconnectsBeyond: reconnects) }
    }

    private func wait(forReconnectsBeyond count: Int) async throws {
        // The count rises during the connect; the client is back once it has a line.
        while reconnects <= count || line == nil {
            if let violation = violations.first { throw CheckFailure(description: "\(name): \(violation)") }
            try await waitForChange()
        }
    }

    /// Waits for the next change.
    private func waitForChange() async throws {
        for await _ in changed.next() {}
        try Task.checkCancellation()
    }

    /// Calls a method until it returns a result or a final error, and retries after lost connections and retryable
    /// errors.
    @discardableResult
    func callWithRetry(_ method: String, _ params: JSONObject) async throws -> JSON {
        // The wait for a connection is limited too.
        try await within("\(name): the answer of \(method)") { [self] in
            try await eventually("the answer of \(method)") {
                do {
                    return try await connected().call(method, params)
                } catch let error as RemoteError where error.isRetryable {
                    await countRetry()
                } catch is ConnectionError {
                    await countRetry()
                }
                return nil
            }
        }
    }

    private func countRetry() { retries += 1 }

    /// Sends a message, and retries with the same `client_id`.
    func send(_ content: String, to conversation: String) async throws {
        try await callWithRetry(
            "messages.send",
            [
                "conversation_id": .string(conversation), "content": .string(content),
                "client_id": .string(UUID().uuidString.lowercased()),
            ])
    }

    /// Creates a group of this client and others, and returns its id.
    func group(with others: some Sequence<ComposeClient>) async throws -> String {
        var ids: [JSON] = []
        for other in others { ids.append(.string(await other.userID)) }
        let conversation = try await callWithRetry(
            "conversations.create_group", ["title": .string("A group of \(name)"), "member_ids": .array(ids)])
        return conversation.text("id")
    }

    /// Waits until the client's state fulfils a condition.
    func waitUntilHeld(_ what: String, _ isReached: @escaping @Sendable (ClientState) -> Bool) async throws {
        try await within("\(name) to hold \(what)") { [self] in try await wait(until: isReached) }
    }

    private func wait(until isReached: @Sendable (ClientState) -> Bool) async throws {
        while !isReached(held) { try await waitForChange() }
    }

    /// Closes the connection. The client reconnects by itself.
    func disconnect() async {
        let line = line
        self.line = nil
        await line?.close()
    }
}
