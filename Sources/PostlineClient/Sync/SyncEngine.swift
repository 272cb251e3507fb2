import Foundation
import Logging

/// Keeps one user's store and the server in step: it connects, catches up, stays live, sends what waits, and comes back.
///
/// What it comes to goes out as reports, in order; that the store has changed, by itself.
actor SyncEngine {
    enum Report: Sendable {
        case state(ConnectionState)
        /// Somebody types, or does not any more.
        case typing(WireTyping)
        /// There is no connection, for this reason.
        case connectionFailed(PostlineError)
        /// The store could not be written: it is tried again with the next connection.
        case storeFailed(PostlineError)
        /// The store's file is torn. The engine has ended.
        case storeDamaged
        /// The session is over for good: the server says so.
        case signedOut(PostlineError)
    }

    let server: Server
    let connector: any Connector
    let store: Store
    let keeper: TokenKeeper
    let registration: DeviceRegistration
    let logger: Logger
    let report: @Sendable (Report) -> Void
    let storeDidChange: @Sendable () -> Void

    /// The connection that there is, from its beginning on.
    var connection: LineConnection?
    /// Whether it is signed in.
    var isReady = false
    /// Whether all that the server has is here, or is pushed.
    var isLive = false
    var isInBackground: Bool
    var offlineSince = Date()
    /// Whether this has ended, and nothing connects any more.
    var hasEnded = false
    var isStoreDamaged = false
    var backoff = Backoff()
    /// Rings when it is worth a try to connect.
    let connectSignal: AsyncSignal
    /// Rings when the outbox has got something.
    let outboxSignal = AsyncSignal()
    /// What the others are to be told of the user's typing.
    var typingThrottle = TypingThrottle()
    let typingSignal = AsyncSignal()
    /// Rings when this device is to be registered by another token, or by none.
    let registrationSignal = AsyncSignal()
    /// Those who wait for a connection to make a call on.
    var connectionWaiters: [CheckedContinuation<LineConnection?, Never>] = []
    /// Those who wait for all that the server has.
    var fetchWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    var lastFetch = 0
    /// Rings when a fetch in the background is wanted no more.
    let fetchStopSignal = AsyncSignal()
    /// Those who wait for what the server has now, whether it is live or not.
    var refreshWaiters: [CheckedContinuation<Bool, Never>] = []
    let refreshSignal = AsyncSignal()

    init(
        server: Server, connector: any Connector, store: Store, keeper: TokenKeeper,
        registration: DeviceRegistration, connectSignal: AsyncSignal, isInBackground: Bool,
        logger: Logger, report: @escaping @Sendable (Report) -> Void, storeDidChange: @escaping @Sendable () -> Void
    ) {
        self.server = server
        self.connector = connector
        self.store = store
        self.keeper = keeper
        self.registration = registration
        self.connectSignal = connectSignal
        self.isInBackground = isInBackground
        self.logger = logger
        self.report = report
        self.storeDidChange = storeDidChange
    }

    /// Runs until its task is cancelled or the session is over.
    func run() async {
        defer {
            hasEnded = true
            resumeConnectionWaiters(with: nil)
            resumeFetchWaiters(false)
            resumeRefreshWaiters(false)
        }
        var isConfirmingRevocation = false
        var mayReconnect = true
        while !Task.isCancelled, !isStoreDamaged {
            if isInBackground, fetchWaiters.isEmpty {
                report(.state(.offline(since: offlineSince)))
                await connectSignal.wait()
                continue
            }
            do {
                if isInBackground {
                    try await fetchInBackground()
                    continue
                }
                report(.state(.connecting))
                let goodbye = try await runConnection()
                // The next try says so, or finds newer tokens; nobody is offline meanwhile.
                let wasRevoked = goodbye?.code == PostlineError.Code.sessionRevoked.rawValue
                isConfirmingRevocation = wasRevoked && !isConfirmingRevocation
                mayReconnect = goodbye?.reconnect ?? true
                if let goodbye {
                    report(.connectionFailed(PostlineError(.offline, goodbye.message, isRetryable: true)))
                }
            } catch let error as PostlineError where Self.endsSession(error) {
                return report(.signedOut(error))
            } catch let error as PostlineError {
                logger.log(
                    level: error.code == .offline ? .debug : .warning, "no connection", metadata: ["error": "\(error)"])
                report(.connectionFailed(error))
            } catch {
                storeDidFail(error)
            }
            resumeConnectionWaiters(with: nil)
            resumeRefreshWaiters(false)
            if !isInBackground { resumeFetchWaiters(false) }
            guard !Task.isCancelled, !isStoreDamaged else { break }
            if isConfirmingRevocation { continue }
            report(.state(.offline(since: offlineSince)))
            if isInBackground, !fetchWaiters.isEmpty { continue }
            if mayReconnect {
                await connectSignal.wait(atMost: backoff.next())
            } else {
                // The server does not want this one back. Whoever asks for it still may.
                await connectSignal.wait()
                mayReconnect = true
            }
        }
        if isStoreDamaged, !Task.isCancelled { report(.storeDamaged) }
    }

    /// The store failed somewhere else: the connection ends, and with it what stands on a damaged file.
    func stop(afterStoreError error: any Error) {
        storeDidFail(error)
        connection?.close()
        connectSignal.signal()
    }

    /// The store failed.
    func storeDidFail(_ error: any Error) {
        if error is CancellationError { return }
        isStoreDamaged = isStoreDamaged || Store.isDamaged(error)
        logger.error("the store cannot be used", metadata: ["error": "\(error)"])
        report(.storeFailed(PostlineError(.storeUnusable, "The store \(store.url.path) cannot be used: \(error)")))
    }

    /// Whether the server says that these tokens are good for nothing any more.
    static func endsSession(_ error: PostlineError) -> Bool {
        error.code == .sessionRevoked || error.code == .invalidToken
    }

    /// One connection, from its beginning to its end. Returns what the server said when it ended it.
    func runConnection() async throws -> LineConnection.Goodbye? {
        let connection = try await LineConnection.connect(to: server, by: connector)
        self.connection = connection
        defer {
            if isReady { offlineSince = Date() }
            (self.connection, isReady, isLive) = (nil, false, false)
            typingThrottle = TypingThrottle()
            connection.close()
        }
        guard !isInBackground else { return nil }
        return try await withTaskCancellationHandler {
            let lifetime = try await keeper.authenticate(connection)
            // Whoever can sign in is not deleted.
            if try await store.read({ try $0.isDeletionPending }) {
                try await store.write { try $0.setDeletionPending(false) }
            }
            isReady = true
            resumeConnectionWaiters(with: connection)
            report(.state(.catchingUp))
            try await catchUp(connection)
            isLive = true
            resumeFetchWaiters(true)
            let start = ContinuousClock.now
            defer { if ContinuousClock.now - start > .seconds(30) { backoff.reset() } }
            report(.state(.live))
            outboxSignal.signal()
            let canRenew = await keeper.tokens.refreshToken != nil
            await withTaskGroup { group in
                group.addTask { await self.runPushLoop(connection) }
                group.addTask { await self.sendOutbox(connection) }
                group.addTask { await self.runRegistrationLoop(connection) }
                group.addTask { await self.runTypingLoop(connection) }
                group.addTask { await self.runProbeLoop(connection) }
                group.addTask { await self.runRefreshLoop(connection) }
                if canRenew { group.addTask { await self.runTokenRenewalLoop(connection, lifetime) } }
                // The reader ends with the connection.
                await group.next()
                group.cancelAll()
                connection.close()
            }
            return await connection.goodbye
        } onCancel: {
            connection.close()
        }
    }
}
