import Foundation
import Logging

/// Keeps one user's store and the server in step: it connects, catches up, stays live, sends what waits, and comes back.
///
/// What changes the store goes out as reports, in order.
actor SyncEngine {
    enum Report: Sendable {
        case state(ConnectionState)
        case touched(Store.Touched)
        /// The store could not be written: it is tried again with the next connection.
        case storeFailed(PostlineError)
        /// The store's file is torn. The engine has ended.
        case storeDamaged
        /// The session is over for good: the server says so.
        case signedOut(PostlineError)
    }

    private let server: Server
    private let connector: any Connector
    private let store: Store
    private let keeper: TokenKeeper
    private let logger: Logger
    private let report: @Sendable (Report) -> Void

    private var connection: LineConnection?
    private var isInBackground = false
    private var isStoreDamaged = false
    private var backoff = Backoff()
    /// Rings when it is worth a try to connect.
    private let wake = Bell()
    /// Rings when the outbox has got something.
    private let outbox = Bell()
    /// Those who wait for a connection to make a call on.
    private var waiters: [CheckedContinuation<LineConnection?, Never>] = []

    init(
        server: Server, connector: any Connector, store: Store, keeper: TokenKeeper, logger: Logger,
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.server = server
        self.connector = connector
        self.store = store
        self.keeper = keeper
        self.logger = logger
        self.report = report
    }

    /// Runs until its task is cancelled or the session is over.
    func run() async {
        var since = Date()
        while !Task.isCancelled {
            if isInBackground {
                report(.state(.offline(since: since)))
                await wake.wait()
                continue
            }
            report(.state(.connecting))
            do {
                try await serve()
            } catch let error as PostlineError where Self.endsSession(error) {
                give(nil)
                return report(.signedOut(error))
            } catch is PostlineError {
                logger.debug("no connection")
            } catch {
                failed(error)
            }
            give(nil)
            guard !isStoreDamaged else { return report(.storeDamaged) }
            guard !Task.isCancelled else { return }
            since = Date()
            report(.state(.offline(since: since)))
            await wake.wait(atMost: backoff.next())
        }
    }

    /// The store failed.
    private func failed(_ error: any Error) {
        if error is CancellationError { return }
        isStoreDamaged = isStoreDamaged || Store.isDamaged(error)
        logger.error("the store cannot be used", metadata: ["error": "\(error)"])
        report(.storeFailed(PostlineError(.storeUnusable, "The store \(store.url.path) cannot be used: \(error)")))
    }

    /// Whether the server says that these tokens are good for nothing any more.
    static func endsSession(_ error: PostlineError) -> Bool {
        error.code == .sessionRevoked || error.code == .invalidToken
    }

    /// One connection, from its beginning to its end.
    private func serve() async throws {
        let connection = try await LineConnection.connect(to: server, by: connector)
        defer {
            self.connection = nil
            connection.close()
        }
        try await withTaskCancellationHandler {
            let lifetime = try await keeper.authenticate(connection)
            self.connection = connection
            give(connection)
            report(.state(.catchingUp))
            try await catchUp(connection)
            backoff.reset()
            report(.state(.live))
            outbox.ring()
            await withTaskGroup { group in
                group.addTask { await self.read(connection) }
                group.addTask { await self.sendOutbox(connection) }
                group.addTask { await self.renew(connection, lifetime) }
                // The reader ends with the connection.
                await group.next()
                group.cancelAll()
                connection.close()
            }
        } onCancel: {
            connection.close()
        }
    }

    // MARK: What comes

    private struct SyncParams: Encodable {
        var cursor: String?
        var live = true
    }

    /// Fetches what has changed since the store's cursor, page by page, and goes live.
    private func catchUp(_ connection: LineConnection) async throws {
        var cursor = try await store.read { try $0.cursor }
        while true {
            let page: Changes = try await connection.call("sync.open", SyncParams(cursor: cursor))
            try await apply(page)
            guard page.more else { return }
            cursor = page.cursor
        }
    }

    private func apply(_ changes: Changes) async throws {
        let (_, touched) = try await store.write { try $0.apply(changes) }
        if !touched.isEmpty { report(.touched(touched)) }
    }

    /// Takes in what is pushed, until the connection ends.
    private func read(_ connection: LineConnection) async {
        do {
            for await push in connection.pushes {
                switch push {
                case .changes(let changes): try await apply(changes)
                case .lagged:
                    report(.state(.catchingUp))
                    try await catchUp(connection)
                    report(.state(.live))
                case .ping(let cursor):
                    guard let cursor else { break }
                    var changes = Changes()
                    changes.cursor = cursor
                    try await apply(changes)
                }
            }
        } catch is PostlineError {
            // The connection's end, which whoever waits for this sees.
        } catch {
            // What could not be stored is not passed over: the next connection asks for it again, from the cursor that is.
            failed(error)
        }
    }

    /// Renews the access token well before its time is over, and tries again until it is.
    private func renew(_ connection: LineConnection, _ lifetime: Duration) async {
        var lifetime = lifetime
        while true {
            do {
                try await Task.sleep(for: lifetime * 0.8)
                lifetime = try await keeper.renew(connection)
            } catch is CancellationError {
                return
            } catch {
                logger.debug("the token cannot be renewed", metadata: ["error": "\(error)"])
                if let error = error as? PostlineError, Self.endsSession(error) { return connection.close() }
                lifetime = .seconds(5)
            }
            if Task.isCancelled { return }
        }
    }

    // MARK: What goes

    /// Sends what waits, each lane by itself and in its order, until the task ends.
    private func sendOutbox(_ connection: LineConnection) async {
        await withTaskGroup(of: String.self) { group in
            var busy: Set<String> = []
            group.addTask { [outbox] in
                await outbox.wait()
                return ""
            }
            while let ended = await group.next(), !Task.isCancelled {
                if ended.isEmpty {
                    group.addTask { [outbox] in
                        await outbox.wait()
                        return ""
                    }
                } else {
                    busy.remove(ended)
                }
                let lanes = (try? await store.read { try $0.waitingLanes() }) ?? []
                for lane in lanes where busy.count < 16 && busy.insert(lane).inserted {
                    group.addTask {
                        await self.send(lane, connection)
                        return lane
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Sends what waits in one lane. What is refused stays, and holds nothing up.
    private func send(_ lane: String, _ connection: LineConnection) async {
        var backoff = Backoff()
        while !Task.isCancelled {
            do {
                guard let change = try await store.read({ try $0.nextChange(lane: lane) }) else { return }
                do {
                    let answer = try await answer(to: change, connection)
                    let (_, touched) = try await store.write { writer in
                        try writer.apply(answer)
                        try writer.remove(change)
                    }
                    report(.touched(touched))
                    backoff.reset()
                } catch let error as PostlineError {
                    if error.code == .offline { return }
                    if [.unauthenticated, .tokenExpired, .sessionRevoked, .invalidToken].contains(error.code) {
                        return connection.close()
                    }
                    if [.rateLimited, .unavailable, .timeout].contains(error.code) {
                        try await Task.sleep(for: error.retryAfter.map { .seconds($0) } ?? backoff.next())
                    } else {
                        let (_, touched) = try await store.write { try $0.refuse(change, error) }
                        report(.touched(touched))
                    }
                }
            } catch is CancellationError {
                return
            } catch {
                // Another connection, another try.
                failed(error)
                return connection.close()
            }
        }
    }

    /// Does a call of the outbox, and gives what it is answered with.
    private func answer(to change: QueuedChange, _ connection: LineConnection) async throws -> Changes {
        var changes = Changes()
        switch change.method {
        case .send, .edit, .delete:
            changes.messages = [try await connection.call(change.method.rawValue, change.params)]
        case .markRead: changes.reads = [try await connection.call(change.method.rawValue, change.params)]
        case .save: changes.me = try await connection.call(change.method.rawValue, change.params)
        }
        return changes
    }

    // MARK: What the app asks for

    /// Says that the outbox has got something.
    nonisolated func ringOutbox() { outbox.ring() }

    /// Says that it is worth a try to connect: the network's path changed, somebody wants to see something.
    nonisolated func connectNow() { wake.ring() }

    /// The app is not seen any more, or again.
    func setInBackground(_ isInBackground: Bool) {
        self.isInBackground = isInBackground
        if isInBackground { connection?.close() }
        wake.ring()
    }

    /// Calls a method on the connection that there is or is being made.
    ///
    /// - Throws: ``PostlineError``: the server's, or `offline`.
    func call<Answer: Decodable & Sendable>(
        _ method: String, _ params: some Encodable & Sendable, as type: Answer.Type = Answer.self
    ) async throws -> Answer {
        try await readyConnection().call(method, params)
    }

    /// Takes in what an answer says, as if it had been pushed.
    func keep(_ changes: Changes) async throws { try await apply(changes) }

    /// Makes the guest an account, whose tokens this connection goes on with.
    func upgrade(_ params: [String: JSONValue]) async throws -> Tokens {
        let tokens: Tokens = try await readyConnection().call("auth.upgrade", params)
        try await keeper.keep(tokens)
        return tokens
    }

    /// Waits until nothing waits any more that the server has not refused, for so long at most.
    func drain(atMost limit: Duration) async throws {
        let end = ContinuousClock.now + limit
        while connection != nil, ContinuousClock.now < end, try await !store.read({ try $0.waitingLanes().isEmpty }) {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func readyConnection() async throws -> LineConnection {
        if let connection { return connection }
        wake.ring()
        guard let connection = await withCheckedContinuation({ waiters.append($0) }) else {
            throw PostlineError(.offline, "There is no connection to the server.", isRetryable: true)
        }
        return connection
    }

    private func give(_ connection: LineConnection?) {
        for waiter in waiters { waiter.resume(returning: connection) }
        waiters = []
    }
}
