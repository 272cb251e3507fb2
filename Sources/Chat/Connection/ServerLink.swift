internal import LineClient
internal import Messaging
internal import Postgres
internal import Threads

/// The chat's connection: it signs in, keeps in step by cursor, delivers what is on its way, and comes back after a loss.
///
/// What it learns goes out as `ChatEvent`s, in order.
actor ServerLink {
    private let host: String
    private let port: Int
    private let trust: ServerTrust?
    var credentials: Credentials
    private let report: @Sendable (ChatEvent) -> Void

    var tokens: SessionTokens?
    private var cursor: String?
    /// What is not yet answered, the oldest first.
    private var outbox: [Outgoing] = []
    /// The marks that are not yet told, the greatest of each conversation.
    private var marks: [String: Int] = [:]

    private var client: LineClient?
    private var isLive = false
    private var hasCatalogue = false
    /// The account that the guest is to be brought into, until that is done or refused.
    private var move: Move?
    private var lastHeard = ContinuousClock.now
    /// Rings when there is something to deliver.
    private var bell: AsyncStream<Void>.Continuation?

    /// - Parameter trust: whom to trust over TLS; nil: lines are not encrypted.
    init(
        host: String, port: Int, trust: ServerTrust?, credentials: Credentials,
        report: @escaping @Sendable (ChatEvent) -> Void
    ) {
        self.host = host
        self.port = port
        self.trust = trust
        self.credentials = credentials
        self.report = report
    }

    /// Connects and signs in, once, before `run`: what is wrong with the credentials is best said at the prompt.
    /// - Throws: `RemoteError` or `ConnectionError`.
    func signIn() async throws {
        let client = try await LineClient.connect(host: host, port: port, trust: trust)
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

    /// Makes the guest an account, which this connection then belongs to.
    func upgrade(email: String, password: String) async throws {
        tokens = try SessionTokens(
            try await call("auth.upgrade", ["email": .string(email), "password": .string(password)]))
        credentials = .password(email: email, password: password)
    }

    /// Sets another password. Returns how many other sessions ended with the old one.
    func changePassword(from current: String, to new: String) async throws -> Int {
        let answer = try await call(
            "auth.change_password", ["current_password": .string(current), "new_password": .string(new)])
        if case .password(let email, _) = credentials { credentials = .password(email: email, password: new) }
        return answer["revoked"]?.integerValue ?? 0
    }

    /// Signs in to an account that the guest's data come into, on a connection of its own, and goes on as that account.
    ///
    /// Returns once the connection stands again: what came along, or the error for which the guest is still a guest.
    func signIn(email: String, password: String) async throws -> JSON {
        guard let client, isLive, move == nil else { throw ConnectionError.closed(goodbye: nil) }
        guard let guest = tokens?.refresh else {
            throw ChatEnded(description: "This guest came with an access token alone, which cannot bring it along.")
        }
        let outcome: Result<JSON, any Error> = await suspended { waiting in
            move = Move(email: email, password: password, guest: guest, waiting: waiting)
            // The guest's session ends as it is merged, and would take this connection with it. `run` goes on.
            Task { await client.close() }
            return .kept
        }
        return try outcome.get()
    }

    private struct Move {
        let email: String
        let password: String
        let guest: String
        let waiting: CheckedContinuation<Result<JSON, any Error>, Never>
        /// Nil until the server has answered.
        var outcome: Result<JSON, any Error>?
    }

    /// Does the move on a new connection; where it is refused, the connection is the guest's.
    private func moveIn(_ client: LineClient, _ wanted: Move) async throws {
        do {
            let answer = try await client.call(
                "auth.login",
                [
                    "email": .string(wanted.email), "password": .string(wanted.password),
                    "guest_refresh_token": .string(wanted.guest),
                ])
            tokens = try SessionTokens(answer)
            move?.outcome = .success(answer["merged"] ?? .null)
            credentials = .password(email: wanted.email, password: wanted.password)
            cursor = nil
            marks = [:]
            for message in outbox {
                report(.refused(clientID: message.clientID, reason: "You signed in to another account meanwhile."))
            }
            outbox = []
        } catch let error as RemoteError {
            move?.outcome = .failure(error)
            try await authenticate(client)
        }
    }

    private func finishMove() {
        guard let move, let outcome = move.outcome else { return }
        self.move = nil
        move.waiting.resume(returning: outcome)
    }

    /// Keeps the connection until the task is cancelled or there is no way back.
    func run() async {
        await stay()
        move?.waiting.resume(returning: .failure(ConnectionError.closed(goodbye: nil)))
        move = nil
    }

    private func stay() async {
        // A person waits, and there is one of it at a time.
        var backoff = Backoff(base: .milliseconds(500), limit: .seconds(5))
        while !Task.isCancelled {
            let reason: String
            var wasLive = false
            do {
                report(.link(.connecting))
                let client = try await connected()
                defer { self.client = nil }
                try await converse(client) {
                    backoff.reset()
                    wasLive = true
                }
                reason = "the connection was lost"
            } catch let ended as ChatEnded {
                return report(.link(.ended(reason: ended.description)))
            } catch let error as RemoteError where error.knownCode == .sessionRevoked {
                return report(.link(.ended(reason: ChatEnded.revoked.description)))
            } catch ConnectionError.closed(let goodbye?) where goodbye.knownCode == .sessionRevoked {
                return report(.link(.ended(reason: ChatEnded.revoked.description)))
            } catch ConnectionError.closed where move != nil && move?.outcome == nil && wasLive {
                continue
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
        let client = try await LineClient.connect(host: host, port: port, trust: trust)
        do {
            if let move, move.outcome == nil { try await moveIn(client, move) } else { try await authenticate(client) }
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
            try await askForCatalogue(client)
            try await synchronize(client, from: cursor)
            isLive = true
            onLive()
            report(.link(.online))
            finishMove()
            bell.yield()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.follow(client) }
                group.addTask { try await self.deliver(client, at: rings) }
                group.addTask { try await self.watch(client) }
                group.addTask { try await self.renew(client) }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    /// Once: what the server offers does not change while one talks. Without it avatars have other colours.
    private func askForCatalogue(_ client: LineClient) async throws {
        guard !hasCatalogue else { return }
        do {
            let answer = try await client.call("avatars.list")
            report(.catalogue((answer["avatars"]?.arrayValue ?? []).compactMap(BuiltInAvatar.init)))
            hasCatalogue = true
        } catch is RemoteError {}
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
            var delayed: String?
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
                    if delayed != message.clientID {
                        report(.delayed(reason: error.message.replacing(" Try again.", with: "")))
                    }
                    delayed = message.clientID
                    try await Task.sleep(for: .seconds(min(30, error.data["retry_after"]?.doubleValue ?? 1)))
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
}
