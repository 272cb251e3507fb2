import Foundation
import Foundations
import Logging

/// The sync of one user's store with the server: it connects, catches up, stays live, sends the outbox and reconnects.
///
/// It reports its progress in order. Changes of the store are reported separately.
actor SyncEngine {
    enum Report: Sendable {
        case state(ConnectionState)
        /// Another user has begun or stopped typing.
        case typing(WireTyping)
        /// A part of a message's files is uploaded. Nil at the end.
        case uploading(Message.ID, TransferProgress?)
        /// Messages of other users have arrived.
        case received(ReceivedMessages)
        /// The server has refused the change with this number.
        case refused(Int64)
        /// The connection failed or was lost for this reason.
        case connectionFailed(PostlineError)
        /// The store could not be written. The next connection tries again.
        case storeFailed(PostlineError)
        /// The store's file is damaged, and the engine has ended.
        case storeDamaged
        /// The server has ended the session.
        case signedOut(PostlineError)
    }

    let server: Server
    let connector: any Connector
    let store: Store
    let keeper: TokenKeeper
    let registration: DeviceRegistration
    /// The cache for uploaded pictures.
    let pictures: PictureCache?
    /// The lock of the process with the connection, or nil if no other process uses the store.
    let connectionLock: FileLock?
    let logger: Logger
    let report: @Sendable (Report) -> Void
    let storeDidChange: @Sendable () -> Void

    /// The current connection, from its opening on.
    var connection: LineConnection?
    /// True if the connection is authenticated.
    var isReady = false
    /// True if the store has all changes and new ones are pushed.
    var isLive = false { didSet { connectionLock?.setMark(isLive) } }
    /// True while another process has the connection.
    var isFollowing = false
    /// The fetch that this process has requested from the one with the connection.
    var fetchRequest: FetchRequest?
    /// Tasks that wait until this process has given up the connection.
    var releaseWaiters: [CheckedContinuation<Void, Never>] = []
    /// The time at which a call last got the connection.
    var lastCall = ContinuousClock.now
    var isInBackground: Bool
    var offlineSince = Date()
    /// True if the engine has ended and will not connect again.
    var hasEnded = false
    var isStoreDamaged = false
    var backoff = Backoff.reconnect
    /// Signals that a connection attempt is worthwhile.
    let connectSignal: AsyncSignal
    /// The signals that end the running uploads, by change.
    var uploads: [Int64: AsyncSignal] = [:]
    /// Signals that the outbox has a new change, or that one was discarded.
    let outboxSignal = AsyncSignal()
    /// The typing notices to send.
    var typingThrottle = TypingThrottle()
    let typingSignal = AsyncSignal()
    /// Signals that messages of other users are stored that the server does not know to be delivered.
    let acknowledgementSignal = AsyncSignal()
    /// Signals that the device's registration has changed.
    let registrationSignal = AsyncSignal()
    /// Tasks that wait for a connection to make a call.
    var connectionWaiters: [CheckedContinuation<LineConnection?, Never>] = []
    /// Tasks that wait until the store has all changes, by fetch.
    var fetchWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    var lastFetchID = 0
    /// The fetches that also wait until the pending changes are sent.
    var sendingFetches: Set<Int> = []
    /// Signals that no task waits for a background fetch any more.
    let fetchStopSignal = AsyncSignal()
    /// Tasks that wait for a refresh.
    var refreshWaiters: [CheckedContinuation<Bool, Never>] = []
    let refreshSignal = AsyncSignal()

    init(
        server: Server, connector: any Connector, store: Store, keeper: TokenKeeper,
        registration: DeviceRegistration, pictures: PictureCache?, connectionLock: FileLock?,
        connectSignal: AsyncSignal,
        isInBackground: Bool, logger: Logger, report: @escaping @Sendable (Report) -> Void,
        storeDidChange: @escaping @Sendable () -> Void
    ) {
        self.server = server
        self.connector = connector
        self.store = store
        self.keeper = keeper
        self.registration = registration
        self.pictures = pictures
        self.connectionLock = connectionLock
        self.connectSignal = connectSignal
        self.isInBackground = isInBackground
        self.logger = logger
        self.report = report
        self.storeDidChange = storeDidChange
    }

    /// Runs until the task is cancelled or the session ends.
    func run() async {
        defer {
            hasEnded = true
            resumeConnectionWaiters(with: nil)
            resumeFetchWaiters(false)
            resumeRefreshWaiters(false)
            releaseConnection()
        }
        var isConfirmingRevocation = false
        var mayReconnect = true
        while !Task.isCancelled, !isStoreDamaged {
            if isInBackground, fetchWaiters.isEmpty {
                report(.state(.offline(since: offlineSince)))
                releaseConnection()
                await connectSignal.wait()
                continue
            }
            do {
                guard takeConnection() else {
                    try await follow()
                    continue
                }
                if isInBackground {
                    try await fetchInBackground()
                    continue
                }
                report(.state(.connecting))
                let goodbye = try await runConnection()
                // The next attempt confirms the revocation or finds newer tokens. The state does not become offline
                // meanwhile.
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
                // The server asked not to reconnect. Only a signal from the app does.
                await connectSignal.wait()
                mayReconnect = true
            }
        }
        if isStoreDamaged, !Task.isCancelled { report(.storeDamaged) }
    }

    /// Ends the connection after an error of the store elsewhere.
    func stop(afterStoreError error: any Error) {
        storeDidFail(error)
        connection?.close()
        connectSignal.signal()
    }

    /// Reports an error of the store.
    func storeDidFail(_ error: any Error) {
        if error is CancellationError { return }
        isStoreDamaged = isStoreDamaged || Store.isDamaged(error)
        logger.error("the store cannot be used", metadata: ["error": "\(error)"])
        report(.storeFailed(PostlineError(.storeUnusable, "The store \(store.url.path) cannot be used: \(error)")))
    }

    /// Returns true for an error after which the tokens are useless.
    static func endsSession(_ error: PostlineError) -> Bool {
        error.code == .sessionRevoked || error.code == .invalidToken
    }

    /// Runs one connection until it ends, and returns the server's goodbye.
    func runConnection() async throws -> LineConnection.Goodbye? {
        let connection = try await LineConnection.connect(to: server, by: connector)
        self.connection = connection
        defer {
            if isReady { offlineSince = Date() }
            (self.connection, isReady, isLive) = (nil, false, false)
            typingThrottle = TypingThrottle()
            connection.close()
        }
        guard !isInBackground, takeConnection() else { return nil }
        return try await withTaskCancellationHandler {
            let lifetime = try await keeper.authenticate(connection)
            // An account that can sign in is not deleted.
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
            storeDidChangeElsewhere()
            let canRenew = await keeper.tokens.refreshToken != nil
            await withTaskGroup { group in
                group.addTask { await self.runPushLoop(connection) }
                group.addTask { await self.sendOutbox(connection) }
                group.addTask { await self.runRegistrationLoop(connection) }
                group.addTask { await self.runTypingLoop(connection) }
                group.addTask { await self.runAcknowledgementLoop(connection) }
                group.addTask { await self.runProbeLoop(connection) }
                group.addTask { await self.runRefreshLoop(connection) }
                if canRenew { group.addTask { await self.runTokenRenewalLoop(connection, lifetime) } }
                // The push loop ends with the connection.
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
