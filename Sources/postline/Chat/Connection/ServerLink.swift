internal import LineClient
internal import Messaging
internal import Postgres

/// The chat's connection: it signs in, keeps in step by cursor, delivers what is on its way, and comes back after a loss.
///
/// What it learns goes out as `ChatEvent`s, in order.
actor ServerLink {
    private let host: String
    private let port: Int
    private let credentials: Credentials
    private let report: @Sendable (ChatEvent) -> Void

    private var accessToken: String?
    private var refreshToken: String?
    private var cursor: String?
    /// What is not yet answered, the oldest first.
    private var outbox: [Outgoing] = []
    /// The marks that are not yet told, the greatest of each conversation.
    private var marks: [String: Int] = [:]

    private var client: LineClient?
    private var isLive = false
    private var lastHeard = ContinuousClock.now
    /// Rings when there is something to deliver.
    private var bell: AsyncStream<Void>.Continuation?

    init(host: String, port: Int, credentials: Credentials, report: @escaping @Sendable (ChatEvent) -> Void) {
        self.host = host
        self.port = port
        self.credentials = credentials
        self.report = report
    }

    // MARK: Asking

    /// Connects and signs in, once, before `run`: what is wrong with the credentials is best said at the prompt.
    /// - Throws: `RemoteError` or `ConnectionError`.
    func signIn() async throws {
        let client = try await LineClient.connect(host: host, port: port)
        do {
            try await authenticate(client)
        } catch {
            await client.close()
            throw error
        }
        self.client = client
    }

    /// Takes a message on its way; it is sent until the server has answered it, over any number of connections.
    func send(_ message: Outgoing) {
        outbox.append(message)
        bell?.yield()
    }

    /// Tells the server that the user has read up to `seq`, now or when there is a connection again.
    func markRead(_ conversationID: String, _ seq: Int) {
        marks[conversationID] = max(seq, marks[conversationID] ?? 0)
        bell?.yield()
    }

    /// Whether something waits to be delivered.
    var isIdle: Bool { outbox.isEmpty && marks.isEmpty }

    /// Calls a method on the connection there is.
    func call(_ method: String, _ params: JSONObject) async throws -> JSON {
        guard let client, isLive else { throw ConnectionError.closed(goodbye: nil) }
        return try await client.call(method, params)
    }

    // MARK: Staying

    /// Keeps the connection until the task is cancelled or there is no way back.
    func run() async {
        var backoff = Backoff(base: .milliseconds(500), limit: .seconds(15))
        while !Task.isCancelled {
            let reason: String
            do {
                report(.link(.connecting))
                let client = try await connected()
                defer { self.client = nil }
                try await converse(client) { backoff.reset() }
                reason = "the connection was lost"
            } catch let ended as ChatEnded {
                return report(.link(.ended(reason: ended.description)))
            } catch ConnectionError.closed(let goodbye?) where !goodbye.reconnect {
                return report(.link(.ended(reason: goodbye.message)))
            } catch ConnectionError.closed(let goodbye?) {
                reason = goodbye.message
            } catch {
                reason = "\(error)"
            }
            guard !Task.isCancelled else { return }
            let wait = backoff.next()
            report(.link(.offline(reason: reason, wait: wait)))
            try? await Task.sleep(for: wait)
        }
    }

    private func connected() async throws -> LineClient {
        if let client { return client }
        let client = try await LineClient.connect(host: host, port: port)
        do {
            try await authenticate(client)
        } catch {
            await client.close()
            throw error
        }
        self.client = client
        return client
    }

    /// Follows, delivers and watches until one of the three ends; then the connection is over.
    private func converse(_ client: LineClient, onLive: () -> Void) async throws {
        // A stream of its own for each connection: a cancelled reader ends its stream.
        let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.bell = bell
        lastHeard = .now
        defer {
            isLive = false
            self.bell = nil
        }
        do {
            try await synchronize(client, from: cursor)
            isLive = true
            onLive()
            report(.link(.online))
            bell.yield()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.follow(client) }
                group.addTask { try await self.deliver(client, at: rings) }
                group.addTask { try await self.watch(client) }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    private func follow(_ client: LineClient) async throws {
        for await push in client.pushes {
            lastHeard = .now
            switch push.method {
            case "changes":
                let changes = Changes(try push.params())
                report(.changes(changes))
                cursor = changes.cursor
            case "sync.lagged":
                try await synchronize(client, from: push.params()["cursor"]?.stringValue ?? cursor)
            case "server.ping":
                if let cursor = try push.params()["cursor"]?.stringValue { self.cursor = cursor }
            default:
                break
            }
        }
        throw ConnectionError.closed(goodbye: await client.goodbye)
    }

    /// Opens live sync from a cursor and takes in page after page.
    private func synchronize(_ client: LineClient, from start: String?) async throws {
        var start = start
        while true {
            var params = [JSONObject.Member(name: "messages_per_conversation", value: .integer(50))]
            if let start { params.append(.init(name: "cursor", value: .string(start))) }
            guard let answer = try await client.call("sync.open", JSONObject(params)).objectValue else {
                throw ConnectionError.malformed("sync.open answered no object")
            }
            let changes = Changes(answer)
            report(.changes(changes))
            cursor = changes.cursor
            start = changes.cursor
            lastHeard = .now
            if !changes.more { return }
        }
    }

    /// Delivers whenever the bell rings: messages in their order, then marks.
    private func deliver(_ client: LineClient, at rings: AsyncStream<Void>) async throws {
        for await _ in rings {
            while let message = outbox.first {
                do {
                    let answer = try await client.call(
                        "messages.send",
                        [
                            "conversation_id": .string(message.conversationID), "content": .string(message.content),
                            "client_id": .string(message.clientID),
                        ])
                    outbox.removeFirst()
                    if let taken = Message(answer) { report(.sent(clientID: message.clientID, taken)) }
                } catch let error as RemoteError where error.isRetryable {
                    try await Task.sleep(for: .seconds(min(30, error.data["retry_after"]?.doubleValue ?? 1)))
                } catch let error as RemoteError where error.knownCode == .sessionRevoked {
                    throw ChatEnded(description: error.message)
                } catch let error as RemoteError where error.number == 401 {
                    // The session is no longer signed in; the next connection will be, and sends it again.
                    throw error
                } catch let error as RemoteError {
                    outbox.removeFirst()
                    report(.refused(clientID: message.clientID, reason: error.message))
                }
            }
            while let (conversationID, seq) = marks.first {
                do {
                    let answer = try await client.call(
                        "messages.mark_read",
                        ["conversation_id": .string(conversationID), "seq": .integer(seq)])
                    if let userID = answer["user_id"]?.stringValue, let mark = answer["last_read_seq"]?.integerValue {
                        var changes = Changes()
                        changes.reads = [.init(conversationID: conversationID, userID: userID, lastReadSeq: mark)]
                        report(.changes(changes))
                    }
                } catch let error as RemoteError where error.isRetryable {
                    try await Task.sleep(for: .seconds(1))
                    continue
                } catch is RemoteError {
                    // A mark in a conversation that is gone is no loss.
                }
                if marks[conversationID] == seq { marks[conversationID] = nil }
            }
            if isIdle { report(.idle) }
        }
    }

    /// Ends the connection when even the server's pings stay away: then the other side is gone without a word.
    private func watch(_ client: LineClient) async throws {
        let patience = Duration.seconds(client.hello.pingSeconds * 5 / 2 + 5)
        while true {
            let quiet = ContinuousClock.now - lastHeard
            if quiet >= patience {
                throw ConnectionError.unreachable(address: "\(host):\(port)", reason: "it has gone quiet")
            }
            try await Task.sleep(for: patience - quiet)
        }
    }

    // MARK: Signing in

    private func authenticate(_ client: LineClient) async throws {
        if case .token(let token) = credentials, accessToken == nil { accessToken = token }
        if let token = accessToken {
            do {
                _ = try await client.call("session.authenticate", ["access_token": .string(token)])
                return
            } catch let error as RemoteError
                where error.knownCode == .tokenExpired || error.knownCode == .invalidToken
            {
                if case .token = credentials, refreshToken == nil {
                    throw ChatEnded(description: "\(error.message) Start again with a fresh token.")
                }
                accessToken = nil
            } catch let error as RemoteError where error.knownCode == .sessionRevoked {
                throw ChatEnded(description: error.message)
            }
        }
        if let refresh = refreshToken {
            do {
                keep(try await client.call("auth.refresh", ["refresh_token": .string(refresh)]))
                if let token = accessToken {
                    _ = try await client.call("session.authenticate", ["access_token": .string(token)])
                    return
                }
            } catch let error as RemoteError where !error.isRetryable {
                // The password, if we have it, is the last way.
                refreshToken = nil
            }
        }
        guard case .password(let email, let password) = credentials else {
            throw ChatEnded(description: "The token is no longer valid. Start again with a fresh one.")
        }
        keep(try await client.call("auth.login", ["email": .string(email), "password": .string(password)]))
    }

    private func keep(_ tokens: JSON) {
        accessToken = tokens["access_token"]?.stringValue
        refreshToken = tokens["refresh_token"]?.stringValue
    }
}
