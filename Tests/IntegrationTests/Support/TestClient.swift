import BoundedWait
import LineClient
import NIOCore
import Testing
import WireProtocol

/// A client with one connection that stores what it receives.
actor TestClient {
    nonisolated let line: LineClient

    /// The signed-in user.
    private(set) var userID = ""

    /// The state after all received changes.
    private(set) var state = SyncedState()

    /// The newest cursor.
    private(set) var cursor = ""

    /// All received Changes, from responses and pushes.
    private(set) var received: [JSON] = []

    private var pushes: AsyncStream<ServerNotification>.Iterator
    private var others: AsyncStream<String>.Iterator
    private var lastID = 0

    /// - Parameters:
    ///   - trust: The trusted certificates for TLS, or nil for plain lines.
    ///   - framing: Handlers between the lines and the connection.
    static func connect(
        host: String = "127.0.0.1", port: Int, trust: ServerTrust? = nil,
        framing: @escaping @Sendable () -> [any ChannelHandler] = { [] }
    ) async throws -> TestClient {
        TestClient(
            try await LineClient.connect(host: host, port: port, trust: trust, framing: framing, timeout: watchdogLimit)
        )
    }

    private init(_ line: LineClient) {
        self.line = line
        pushes = line.pushes.makeAsyncIterator()
        others = line.otherLines.makeAsyncIterator()
    }

    func close() async { await line.close() }

    /// Returns the client on a new connection, perhaps to another node: it authenticates with the tokens, and resumes
    /// with its cursor and state.
    func resumed(at port: Int, with tokens: JSON) async throws -> TestClient {
        let next = try await Self.connect(port: port)
        await next.take(over: state, cursor, received)
        try await next.authenticate(tokens)
        try await next.sync(from: cursor)
        return next
    }

    private func take(over state: SyncedState, _ cursor: String, _ received: [JSON]) {
        self.state = state
        self.cursor = cursor
        self.received = received
    }
}

extension TestClient {
    @discardableResult
    func call(_ method: String, _ params: JSONObject = [:]) async throws -> JSON {
        let line = line
        return try await within("the answer of \(method)") { try await line.call(method, params) }
    }

    /// Expects a request to fail, and returns its error.
    @discardableResult
    func refused(
        _ code: ErrorCode, _ method: String, _ params: JSONObject = [:], field: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> RemoteError? {
        do {
            let answer = try await call(method, params)
            Issue.record(
                "\(method) \(JSON.object(params).text) was answered with \(answer.text)", sourceLocation: sourceLocation
            )
            return nil
        } catch let error as RemoteError {
            #expect(error.code == code.rawValue, "\(method): \(error.message)", sourceLocation: sourceLocation)
            #expect(error.number == code.number, sourceLocation: sourceLocation)
            #expect(error.isRetryable == code.isRetryable, sourceLocation: sourceLocation)
            if let field { #expect(error.field == field, "\(error.message)", sourceLocation: sourceLocation) }
            return error
        }
    }

    func signIn(_ person: Person) async throws {
        try await logIn(person.email)
    }

    /// Signs in by address, and merges a guest if its tokens are given.
    @discardableResult
    func logIn(_ email: String, password: String = TestNode.password, guest: JSON? = nil) async throws -> JSON {
        var params: JSONObject = ["email": .string(email), "password": .string(password)]
        if let token = guest?["refresh_token"] {
            params = JSONObject(params.members + [.init(name: "guest_refresh_token", value: token)])
        }
        return try await enter("auth.login", params)
    }

    /// Registers a new user.
    @discardableResult
    func register(_ name: String, email: String? = nil) async throws -> JSON {
        try await enter(
            "auth.register",
            [
                "email": .string(email ?? "\(UInt64.random(in: 0 ... .max))@new.example.com"),
                "password": .string(TestNode.password), "full_name": .string(name),
            ])
    }

    /// Signs in as a new guest.
    @discardableResult
    func becomeGuest(_ name: String? = nil) async throws -> JSON {
        try await enter("auth.guest", name.map { ["full_name": .string($0)] } ?? [:])
    }

    /// Authenticates with tokens of another connection.
    @discardableResult
    func authenticate(_ tokens: JSON) async throws -> JSON {
        try await enter("session.authenticate", ["access_token": tokens["access_token"] ?? .null])
    }

    private func enter(_ method: String, _ params: JSONObject) async throws -> JSON {
        let answer = try await call(method, params)
        userID = answer["user_id"]?.stringValue ?? ""
        return answer
    }

    @discardableResult
    func send(_ content: String, to conversation: String) async throws -> JSON {
        try await call("messages.send", ["conversation_id": .string(conversation), "content": .string(content)])
    }

    func markRead(_ conversation: String, upTo seq: Int) async throws {
        _ = try await call("messages.mark_read", ["conversation_id": .string(conversation), "seq": .integer(seq)])
    }

    /// Opens the direct conversation with a user, and returns its id.
    @discardableResult
    func conversation(with user: String) async throws -> String {
        let conversation = try await call("conversations.open", ["user_id": .string(user)])
        return try #require(conversation["id"]?.stringValue)
    }
}

extension TestClient {
    /// Sends a line, and returns its response. The id must be a string or null, which `call` never uses.
    func exchange(_ text: String) async throws -> String {
        try await line.send(line: text)
        return try await nextLine()
    }

    /// Returns the next line that is neither a push nor a response to `call`.
    func nextLine() async throws -> String {
        let watch = watchdog()
        defer { watch.cancel() }
        var iterator = others
        let next = await iterator.next(isolation: self)
        others = iterator
        guard let next else { throw await ended() }
        return next
    }

    /// Returns the raw response to a call.
    func answerText(_ method: String, _ params: JSON) async throws -> String {
        try await exchange(#"{"jsonrpc":"2.0","id":"x","method":"\#(method)","params":\#(params.text)}"#)
    }
}

extension TestClient {
    /// Opens a sync and reads all pages. The session is live afterwards by default.
    @discardableResult
    func sync(
        from cursor: String? = nil, messages: Int? = nil, live: Bool? = nil
    ) async throws -> [JSON] {
        var pages: [JSON] = []
        var params: [JSONObject.Member] = []
        if let messages { params.append(.init(name: "messages_per_conversation", value: .integer(messages))) }
        if let live { params.append(.init(name: "live", value: .bool(live))) }
        var next = cursor
        repeat {
            let at = next.map { [JSONObject.Member(name: "cursor", value: .string($0))] } ?? []
            let page = try await call("sync.open", JSONObject(params + at))
            take(page)
            pages.append(page)
            next = page["cursor"]?.stringValue
        } while pages.last?["more"] == true
        return pages
    }

    /// Returns the next notification that is no ping. Pings come however long a test takes.
    func nextNotification() async throws -> ServerNotification {
        let watch = watchdog()
        defer { watch.cancel() }
        while true {
            let push = try await nextUnwatched()
            if push.method != "server.ping" { return push }
        }
    }

    private func nextUnwatched() async throws -> ServerNotification {
        var iterator = pushes
        let next = await iterator.next(isolation: self)
        pushes = iterator
        guard let next else { throw await ended() }
        return next
    }

    /// Returns the next pushed Changes.
    ///
    /// - Throws: `TimeoutError` also on `sync.lagged`, after which none comes before a `sync.open`.
    @discardableResult
    func nextChanges() async throws -> JSON {
        // One watchdog for the whole wait.
        let watch = watchdog()
        defer { watch.cancel() }
        while true {
            let push = try await nextUnwatched()
            if push.method == "sync.lagged" {
                throw TimeoutError(description: "received sync.lagged instead of a change")
            }
            guard push.method == "changes" else { continue }
            let changes = JSON.object(try push.params())
            take(changes)
            return changes
        }
    }

    /// Reads pushes until the state fulfils a condition.
    func follow(_ what: String = "a change", until isReached: @Sendable (SyncedState) -> Bool) async throws {
        while !isReached(state) {
            do {
                try await nextChanges()
            } catch let error as TimeoutError {
                throw TimeoutError(description: "\(error.description), for \(what)")
            }
        }
    }

    /// Applies Changes that the test has read itself.
    func take(_ changes: JSON) {
        expectChanges(changes)
        state.apply(changes)
        cursor = changes["cursor"]?.stringValue ?? cursor
        received.append(changes)
    }

    /// Proves that no push is pending: changes the user's own data by SQL, and returns the pushes up to that change.
    ///
    /// Changes arrive in commit order, so everything committed before arrives before.
    func pushesUpTo(_ fence: String, on database: TestDatabase) async throws -> [JSON] {
        let start = received.count
        try await database.psql(
            "update public.user_private set preferences = preferences || '{\"fence\":\"\(fence)\"}' where id = '\(userID)'"
        )
        try await follow("the fence \(fence)") { $0.me?["preferences"]?["fence"]?.stringValue == fence }
        return received[start...].filter {
            $0["me"]?["preferences"]?["fence"]?.stringValue != fence || $0.names.count > 4
        }
    }

    private func ended() async -> TimeoutError {
        TimeoutError(
            description: "the connection ended (\(await line.goodbye?.message ?? "without a goodbye, or too late"))")
    }

    /// Returns a task that closes the connection after the watchdog limit, which ends this actor's wait.
    private nonisolated func watchdog() -> Task<Void, any Error> {
        // The caller cancels it. Otherwise it ends by itself, and closes a connection that is no longer used.
        Task { [line] in
            try await Task.sleep(for: watchdogLimit)
            await line.close()
        }
    }
}
