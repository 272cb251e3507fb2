package import Accounts
package import ChangeFeed
package import DatabaseAccess
import Foundations
package import Logging
import Crypto
import FoundationEssentials
package import Metrics
import NIOCore
import Postgres
import ServiceLifecycle
package import WireProtocol

/// The messaging service of one node: everything between sessions and the database.
package final class MessagingService: Service, SessionFactory {
    package let database: Database

    /// The standby for reads while the feed polls it, or nil if none is configured.
    let standby: Database?
    let accounts: Accounts
    let limits: RateLimits
    let connectedSessions: ConnectedSessions
    let sync: Sync

    /// Limits the pages of conversations with repeated profiles that are read and converted at a time.
    package let conversationPages: ConcurrencyLimiter

    /// Limits the batches whose answers are collected at a time. A client's further batches wait, so that its partial
    /// answers do not fill the memory. The pool runs no more of its requests at a time either.
    package let batches: ConcurrencyLimiter

    /// Limits the checks of uploads at a time: an S3 store reads the whole file. The rest of the connections to it is
    /// left to removals.
    package let fileChecks: ConcurrencyLimiter
    let feed: Feed
    let sendBatcher: SendBatcher
    let pieceBatcher: PieceBatcher

    /// Nil if this node does not report presence.
    let presence: PresenceReporter?

    /// Nil if this node does not report delivered messages.
    let deliveries: DeliveryReporter?

    /// The platforms of device pushes.
    let pushPlatforms: Set<DevicePlatform>

    /// The store of pictures, or nil if media is not configured.
    let media: (any MediaStore)?
    let info: ServerInfo
    let logger: Logger

    let requestMetrics: RequestMetrics

    /// The time of the last answered request.
    package let activity = RequestActivity()

    let pool: Pool

    /// The standby's connection pool, or nil if no standby is configured.
    private let standbyPool: Pool?
    private let reportWorker: ReportWorker
    private let retentionDays: Int?
    let endedSessionGrace: Duration

    package struct Configuration: Sendable {
        package var databaseURL: String

        /// The database URL for the feed. It must not go through a transaction pooler, since the feed uses `LISTEN`.
        package var listenDatabaseURL: String

        /// The standby for lists and the feed's polls while its lag is small, or nil if there is none.
        package var standbyDatabaseURL: String?

        /// The number of connections for requests to the primary, and of those to the standby.
        package var poolSize: Int

        /// The longest wait of a request for a database connection, after which it fails with `unavailable`.
        package var poolWait: Duration = .seconds(3)

        /// The largest push, in bytes. A session with a larger one must resync.
        package var maxPushBytes = 1 << 20

        /// The time for which a connection that ended its own session stays open, so that a user can sign in on it.
        package var endedSessionGrace: Duration = .seconds(4)

        /// The intervals of presence reports, or nil if this node does not report presence.
        package var presence: PresenceTimes? = PresenceTimes()

        /// The least time between two reports of delivered messages, or nil if this node reports none.
        package var deliveryInterval: Duration? = .seconds(1)

        /// The platforms of device pushes.
        package var pushPlatforms: Set<DevicePlatform> = []

        /// The store of pictures, or nil if media is not configured.
        package var media: (any MediaStore)?

        /// The days after which a closed report loses its evidence.
        package var reportRetentionDays = 90

        /// The days after which messages expire, or nil if they are kept.
        package var retentionDays: Int?

        /// Nil if Sign in with Apple is not configured.
        package var apple: AppleSignIn?

        /// Nil if the server sends no mail.
        package var mail: MailPolicy?
        package var limits: StatementLimits
        package var accountProvider: AccountProvider
        package var keys: TokenKeys
        package var issuer: String
        package var audience: String
        package var accessTokenSeconds: Int

        /// The seconds after a refresh in which the previous token returns the same answer.
        package var refreshReuseSeconds: Int

        /// The secret that refresh tokens are derived from: at least 32 bytes, the same on every node.
        package var refreshSecret: String

        /// The rate limits, or nil for load tests without limits.
        package var rates: Rates?
        package var info: ServerInfo

        package init(
            databaseURL: String, listenDatabaseURL: String, poolSize: Int, limits: StatementLimits,
            accountProvider: AccountProvider, keys: TokenKeys, issuer: String, audience: String,
            accessTokenSeconds: Int, refreshReuseSeconds: Int, refreshSecret: String, rates: Rates?,
            info: ServerInfo
        ) {
            self.databaseURL = databaseURL
            self.listenDatabaseURL = listenDatabaseURL
            self.poolSize = poolSize
            self.limits = limits
            self.accountProvider = accountProvider
            self.keys = keys
            self.issuer = issuer
            self.audience = audience
            self.accessTokenSeconds = accessTokenSeconds
            self.refreshReuseSeconds = refreshReuseSeconds
            self.refreshSecret = refreshSecret
            self.rates = rates
            self.info = info
        }
    }

    /// - Parameter metrics: the factory of the service's metrics.
    package init(
        configuration: Configuration, logger: Logger, metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        var options = PoolOptions(size: configuration.poolSize, waitLimit: configuration.poolWait)
        options.connection = .logging(to: logger)
        let waits = Timer(label: "postline_pool_wait_seconds", factory: metrics)
        options.onWait = { waits.recordNanoseconds($0.count(of: .nanoseconds(1))) }
        // Load tests run without limits.
        options.share = configuration.rates.map { _ in PoolShare() }
        let shareWaits = Timer(label: "postline_user_share_wait_seconds", factory: metrics)
        let shareRefusals = Counter(label: "postline_user_share_rejected_total", factory: metrics)
        options.onShareWait = { wait, isRefused in
            shareWaits.recordNanoseconds(wait.count(of: .nanoseconds(1)))
            if isRefused { shareRefusals.increment() }
        }
        pool = Pool(url: configuration.databaseURL, options: options)
        database = Database(pool: pool, limits: configuration.limits, metrics: metrics)
        options.isForWrites = false
        standbyPool = configuration.standbyDatabaseURL.map { [options] in Pool(url: $0, options: options) }
        standby = standbyPool.map {
            Database(pool: $0, limits: configuration.limits, metrics: metrics)
        }
        accounts = Accounts(
            provider: configuration.accountProvider,
            database: database,
            keys: configuration.keys,
            apple: configuration.apple, mail: configuration.mail,
            mailsPerHour: configuration.rates.map { String($0.mailsPerHour) },
            settings: .init(
                issuer: configuration.issuer, audience: configuration.audience,
                accessTokenSeconds: configuration.accessTokenSeconds,
                refreshKey: HKDF<SHA256>.deriveKey(
                    inputKeyMaterial: SymmetricKey(data: Array(configuration.refreshSecret.utf8)),
                    info: Array("postline refresh tokens".utf8), outputByteCount: 32),
                refreshReuseSeconds: configuration.refreshReuseSeconds),
            // Half of the cores at most, so that hashing does not delay signed-in users.
            hasher: PasswordHasher(threads: max(1, System.coreCount / 2), queueLimit: 64),
            metrics: HashingMetrics(factory: metrics),
            unreadableHashes: UnreadableHashes(logger: logger),
            sessionChecks: Accounts.sessionChecks(in: database))
        limits = RateLimits(configuration.rates, metrics: metrics)
        requestMetrics = RequestMetrics(factory: metrics)
        connectedSessions = ConnectedSessions(database: database, logger: logger)
        let pages = max(2, configuration.poolSize / 4)
        sync = Sync(
            database: database, standby: standby,
            userTurns: ConcurrencyLimiter(share: configuration.rates == nil ? nil : 1, on: pool.reactor),
            limiter: ConcurrencyLimiter(
                width: pages, groupShare: configuration.rates == nil ? nil : pages / 2, on: pool.reactor),
            reconnects: ReconnectBatcher(database: database, logger: logger))
        conversationPages = ConcurrencyLimiter(
            width: max(2, System.coreCount),
            groupShare: configuration.rates == nil ? nil : max(1, System.coreCount / 2), on: pool.reactor)
        batches = ConcurrencyLimiter(share: configuration.rates == nil ? nil : 2, on: pool.reactor)
        fileChecks = ConcurrencyLimiter(
            width: 4, share: configuration.rates == nil ? nil : 1, groupShare: configuration.rates == nil ? nil : 2,
            on: pool.reactor)
        feed = Feed(
            settings: .init(
                url: configuration.listenDatabaseURL, standbyURL: configuration.standbyDatabaseURL,
                limits: StatementLimits(statement: .seconds(5), lock: .seconds(5)),
                maxPushBytes: configuration.maxPushBytes),
            typingSecret: configuration.refreshSecret, reactor: Reactor(name: "feed"), logger: logger, metrics: metrics,
            onDeletion: { [connectedSessions] in await connectedSessions.endSessions(of: $0) })
        sendBatcher = SendBatcher(
            database: database, feed: feed, waitTimeout: configuration.poolWait, logger: logger, metrics: metrics)
        pieceBatcher = PieceBatcher(
            database: database, feed: feed, waitTimeout: configuration.poolWait, logger: logger, metrics: metrics)
        presence = configuration.presence.map { [database, feed] in
            PresenceReporter(times: $0, database: database, logger: logger) { feed.changed() }
        }
        deliveries = configuration.deliveryInterval.map { [database, feed] in
            DeliveryReporter(database: database, feed: feed, interval: $0, logger: logger)
        }
        pushPlatforms = configuration.pushPlatforms
        media = configuration.media
        retentionDays = configuration.retentionDays
        reportWorker = ReportWorker(
            database: database, logger: logger, retentionDays: configuration.reportRetentionDays, metrics: metrics)
        info = configuration.info
        endedSessionGrace = configuration.endedSessionGrace
        self.logger = logger
        let secret = SecretFingerprint.of(configuration.refreshSecret)
        Meter(
            label: "postline_node_info", dimensions: [("version", info.version), ("secret", secret)], factory: metrics
        ).set(1)
    }

    /// Runs the pools, the feed and the background tasks until the service is stopped.
    package func run() async throws {
        await withDiscardingTaskGroup { group in
            group.addTask(executorPreference: self.pool.reactor) { await self.pool.run() }
            if let standbyPool = self.standbyPool {
                group.addTask(executorPreference: standbyPool.reactor) { await standbyPool.run() }
            }
            await cancelWhenGracefulShutdown {
                await withDiscardingTaskGroup { group in
                    group.addTask(executorPreference: self.feed.reactor) { await self.feed.run() }
                    group.addTask(executorPreference: self.pool.reactor) { await self.sendBatcher.run() }
                    if self.accounts.provider == .builtin { group.addTask { await self.connectedSessions.run() } }
                    if let presence = self.presence { group.addTask { await presence.run() } }
                    if let deliveries = self.deliveries { group.addTask { await deliveries.run() } }
                    let mover = MessageMover(database: self.database, logger: self.logger) { [feed = self.feed] in
                        feed.changed()
                    }
                    group.addTask { await mover.run() }
                    group.addTask { await self.reportWorker.run() }
                    for work in DueWorker.Work.allCases {
                        let worker = DueWorker(
                            database: self.database, logger: self.logger, work: work, retentionDays: self.retentionDays
                        ) { [feed = self.feed] in feed.changed() }
                        group.addTask { await worker.run() }
                    }
                    if let media = self.media {
                        let sweeper = MediaSweeper(store: media, database: self.database, logger: self.logger)
                        group.addTask { await sweeper.run() }
                    }
                }
            }
            // The last presence report still needs the pool.
            await presence?.shortenLease()
            group.cancelAll()
        }
    }

    /// Updates the gauges that are read on demand.
    package func measure() {
        feed.metrics.measure()
        accounts.metrics.measure(accounts.hasher)
    }

    /// Opens a session of the account with this address, without its password, and returns the access token.
    ///
    /// The service need not be running.
    ///
    /// - Throws: `not_found`, or an error of the database.
    package func accessToken(forEmail email: String) async throws -> String {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.pool.run() }
            defer { group.cancelAll() }
            return try await accounts.accessToken(forEmail: email)
        }
    }

    /// The tickets that open event streams.
    package var streamTickets: StreamTickets { StreamTickets(accounts: accounts, database: database) }

    package func makeSession(sink: any ClientSink, peerAddress: String) -> any LineSession {
        ConnectionSession(service: self, sink: sink, peerAddress: peerAddress)
    }

    package func admitRequest(peerAddress: String, bytes: Int, canWait: Bool) async throws(ProtocolError) {
        try await limits.admitRequest(of: nil, at: AddressKey(peerAddress), bytes: bytes, canWait: canWait)
    }
}
