import BoundedWait
import FoundationEssentials
import LineClient
import Messaging

/// A guest of the composed system. Whatever happens to its connection, it comes back with its cursor, to whichever node
/// the balancer leads it to.
actor ComposeClient {
    nonisolated let name: String
    private(set) var userID = ""
    private(set) var held = ClientState()

    /// The number of reconnects.
    private(set) var returns = 0

    /// The number of retries after an error or a lost connection.
    private(set) var retries = 0

    /// Each way in which it saw a promise broken.
    private(set) var broken: [String] = []

    private let address: ComposedSystem.Address
    private var accessToken: JSON?
    private var cursor: JSON?
    private var line: LineClient?
    private var changed = ChangeSignal()

    /// Conversations of which it was not given all messages, and has not asked for them yet.
    private var limited: Set<String> = []

    init(_ name: String, at address: ComposedSystem.Address) {
        self.name = name
        self.address = address
    }

    /// Runs a body with visitors that are there, each with an account of its own.
    ///
    /// - Throws: what `body` throws, or `Broken` where one of them saw a promise broken.
    static func with(
        _ count: Int, at address: ComposedSystem.Address,
        _ body: @escaping @Sendable ([ComposeClient]) async throws -> Void
    ) async throws {
        let visitors = (1...count).map { ComposeClient("ComposeClient \($0)", at: address) }
        try await withThrowingTaskGroup(of: Void.self) { lives in
            for client in visitors { lives.addTask { await client.live() } }
            defer { lives.cancelAll() }
            for client in visitors {
                try await within("\(client.name)'s first connection") { _ = try await client.connected() }
            }
            try await body(visitors)
            lives.cancelAll()
            for client in visitors { await client.hangUp() }
        }
        for client in visitors {
            let broken = await client.broken
            try expect(broken.isEmpty, "\(client.name): \(broken.joined(separator: "; "))")
        }
    }

    /// Lives until it is cancelled: connects, takes in what comes, and begins anew when the connection ends.
    private func live() async {
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
                broken.append("\(error)")
                changed.signal()
            } catch {
                // It tries again.
            }
            await hangUp()
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
            if isReturning { returns += 1 }
            var isMore = true
            while isMore {
                let page = try await line.call("sync.open", cursor.map { ["cursor": $0] } ?? [:])
                if isReturning, page["reset"] == .bool(true) { broken.append("its cursor was not continued") }
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
        broken += held.apply(changes)
        // Kept together with what it stands for: a gap that is not closed now is closed after the return.
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
    /// The connection, once there is one that is live.
    func connected() async throws -> LineClient {
        while true {
            if let line { return line }
            try await rung()
        }
    }

    /// Returns when it is there again, after so many returns.
    func comesBack(after returns: Int) async throws {
        try await within("\(name)'s return") { [self] in try await wait(forReturnsBeyond: returns) }
    }

    private func wait(forReturnsBeyond count: Int) async throws {
        // What it counts is counted as it comes; it is there once it has a line.
        while returns <= count || line == nil {
            if let broken = broken.first { throw Broken(description: "\(name): \(broken)") }
            try await rung()
        }
    }

    /// Returns when something has changed.
    private func rung() async throws {
        for await _ in changed.next() {}
        try Task.checkCancellation()
    }

    /// Calls a method until it is answered by a result or by an error that is final: on another connection where the
    /// one it was called on is lost, and again where the node says that it may be tried again.
    @discardableResult
    func surely(_ method: String, _ params: JSONObject) async throws -> JSON {
        // To be connected is waited for too.
        try await within("\(name): the answer of \(method)") { [self] in
            try await eventually("the answer of \(method)") {
                do {
                    return try await connected().call(method, params)
                } catch let error as RemoteError where error.isRetryable {
                    await again()
                } catch is ConnectionError {
                    await again()
                }
                return nil
            }
        }
    }

    private func again() { retries += 1 }

    /// Sends a message, again with the same `client_id` until it is answered.
    func send(_ content: String, to conversation: String) async throws {
        try await surely(
            "messages.send",
            [
                "conversation_id": .string(conversation), "content": .string(content),
                "client_id": .string(UUID().uuidString.lowercased()),
            ])
    }

    /// A new group of it and the others.
    func group(with others: some Sequence<ComposeClient>) async throws -> String {
        var ids: [JSON] = []
        for other in others { ids.append(.string(await other.userID)) }
        let conversation = try await surely(
            "conversations.create_group", ["title": .string("A group of \(name)"), "member_ids": .array(ids)])
        return conversation.text("id")
    }

    /// Returns when what it holds is as the condition says.
    func holds(_ what: String, _ isReached: @escaping @Sendable (ClientState) -> Bool) async throws {
        try await within("\(name) to hold \(what)") { [self] in try await wait(until: isReached) }
    }

    private func wait(until isReached: @Sendable (ClientState) -> Bool) async throws {
        while !isReached(held) { try await rung() }
    }

    /// Hangs up; it comes back by itself.
    func hangUp() async {
        let line = line
        self.line = nil
        await line?.close()
    }
}
