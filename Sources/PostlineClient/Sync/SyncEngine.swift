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

    let server: Server
    let connector: any Connector
    let store: Store
    let keeper: TokenKeeper
    let logger: Logger
    let report: @Sendable (Report) -> Void

    var connection: LineConnection?
    var isInBackground = false
    var isStoreDamaged = false
    var backoff = Backoff()
    /// Rings when it is worth a try to connect.
    let wake = Bell()
    /// Rings when the outbox has got something.
    let outbox = Bell()
    /// Those who wait for a connection to make a call on.
    var waiters: [CheckedContinuation<LineConnection?, Never>] = []

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
    func failed(_ error: any Error) {
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
    func serve() async throws {
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
}
