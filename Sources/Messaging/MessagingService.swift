public import Logging
internal import Crypto
internal import FoundationEssentials
public import Metrics
internal import NIOCore
internal import PasswordHashing
internal import Postgres
public import ServiceLifecycle

/// The messaging service of one node: everything between a session and the database.
public final class MessagingService: Service, SessionFactory {
    let database: Database

    /// For reads, as long as the feed looks there; nil where there is none.
    let standby: Database?
    let accounts: Accounts
    let limits: RateLimits
    let connectedSessions: ConnectedSessions
    let sync: Sync
    let feed: Feed
    let sendBatcher: SendBatcher

    /// Nil where this node tells nobody who is online.
    let presence: PresenceReporter?

    /// By whom devices can be pushed to.
    let pushes: Set<DevicePlatform>

    /// Where pictures are; nil where none are kept.
    let media: (any MediaStore)?
    let info: ServerInfo
    let logger: Logger

    let requestMetrics: RequestMetrics

    /// Whether requests are being answered.
    public let activity = RequestActivity()

    let pool: Pool

    /// That of the standby; nil where there is none.
    private let standbyPool: Pool?
    let endedSessionGrace: Duration

    public struct Configuration: Sendable {
        public var databaseURL: String

        /// Where the feed listens and looks: a way to the same database on which a session keeps its backend.
        public var listenDatabaseURL: String

        /// A standby of that database, from which lists and what changed are read as long as it keeps up; nil: none.
        public var standbyDatabaseURL: String?

        /// How many connections requests have: to the database, and as many to the standby.
        public var poolSize: Int

        /// How long a request waits for a connection to the database before it is `unavailable`.
        public var poolWait: Duration = .seconds(3)

        /// The largest push that a connection takes, in bytes. A session with a larger one must resync.
        public var maxPushBytes = 1 << 20

        /// How long a connection that has ended its own session stays open for its user to sign in again.
        public var endedSessionGrace: Duration = .seconds(4)

        /// How soon this node says who is online; nil: it never does.
        public var presence: PresenceTimes? = PresenceTimes()

        /// By whom devices can be pushed to.
        public var pushes: Set<DevicePlatform> = []

        /// Where pictures are; nil where none are kept.
        public var media: (any MediaStore)?

        /// Nil where nobody signs in with Apple.
        public var apple: AppleSignIn?

        /// Nil where no mail is sent.
        public var mail: MailPolicy?
        public var limits: StatementLimits
        public var accountProvider: AccountProvider
        public var keys: TokenKeys
        public var issuer: String
        public var audience: String
        public var accessTokenSeconds: Int

        /// For how long after a refresh the token before it still gets the same answer.
        public var refreshReuseSeconds: Int

        /// What refresh tokens are derived from: at least 32 bytes, the same on every node.
        public var refreshSecret: String

        /// Nil for load tests: nothing is bounded.
        public var rates: Rates?
        public var info: ServerInfo

        public init(
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

    /// - Parameter metrics: what makes the service's figures.
    public init(
        configuration: Configuration, logger: Logger, metrics: any MetricsFactory = MetricsSystem.factory
    ) {
        var options = PoolOptions(size: configuration.poolSize, waitLimit: configuration.poolWait)
        options.connection = .logging(to: logger)
        let waits = Timer(label: "postline_pool_wait_seconds", factory: metrics)
        options.onWait = { waits.recordNanoseconds($0.count(of: .nanoseconds(1))) }
        // For load tests nothing is bounded.
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
        standby = standbyPool.map { Database(pool: $0, limits: configuration.limits, metrics: metrics) }
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
            // Half of the machine at most: those who are signed in have the other.
            hasher: PasswordHasher(threads: max(1, System.coreCount / 2), queueLimit: 64),
            metrics: HashingMetrics(factory: metrics),
            unreadableHashes: UnreadableHashes(logger: logger),
            sessionChecks: Accounts.sessionChecks(in: database))
        limits = RateLimits(configuration.rates, metrics: metrics)
        requestMetrics = RequestMetrics(factory: metrics)
        connectedSessions = ConnectedSessions(database: database, logger: logger)
        sync = Sync(
            database: database, standby: standby,
            limiter: ConcurrencyLimiter(
                width: max(2, configuration.poolSize / 4), share: configuration.rates == nil ? nil : 1,
                on: pool.reactor),
            reconnects: ReconnectBatcher(database: database, logger: logger))
        feed = Feed(
            settings: .init(
                url: configuration.listenDatabaseURL, standbyURL: configuration.standbyDatabaseURL,
                limits: StatementLimits(statement: .seconds(5), lock: .seconds(5)),
                maxPushBytes: configuration.maxPushBytes),
            typingSecret: configuration.refreshSecret, reactor: Reactor(name: "feed"), logger: logger, metrics: metrics,
            onDeletion: { [connectedSessions] in await connectedSessions.endAll(of: $0) })
        sendBatcher = SendBatcher(
            database: database, waitTimeout: configuration.poolWait, logger: logger, metrics: metrics,
            writeWillBegin: { [feed] in feed.writeWillBegin() }, writeDidEnd: { [feed] in feed.writeDidEnd() })
        presence = configuration.presence.map { [database, feed] in
            PresenceReporter(times: $0, database: database, logger: logger) { feed.changed() }
        }
        pushes = configuration.pushes
        media = configuration.media
        info = configuration.info
        endedSessionGrace = configuration.endedSessionGrace
        self.logger = logger
        let secret = SecretFingerprint.of(configuration.refreshSecret)
        Meter(
            label: "postline_node_info", dimensions: [("version", info.version), ("secret", secret)], factory: metrics
        ).set(1)
    }

    /// Keeps the pool and the feed until the service is stopped.
    public func run() async throws {
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
                    let mover = MessageMover(database: self.database, logger: self.logger) { [feed = self.feed] in
                        feed.changed()
                    }
                    group.addTask { await mover.run() }
                    if let media = self.media {
                        let sweeper = MediaSweeper(store: media, database: self.database, logger: self.logger)
                        group.addTask { await sweeper.run() }
                    }
                }
            }
            // The last that is said needs the pool still.
            await presence?.leave()
            group.cancelAll()
        }
    }

    /// Takes the figures that are taken when they are asked for.
    public func measure() {
        feed.metrics.measure()
        accounts.metrics.measure(accounts.hasher)
    }

    /// An access token of the account with that address, in a session of its own, without its password.
    ///
    /// The service need not run.
    /// - Throws: `not_found`, or what the database says.
    public func accessToken(forEmail email: String) async throws -> String {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.pool.run() }
            defer { group.cancelAll() }
            return try await accounts.accessToken(forEmail: email)
        }
    }

    /// What is to be sent.
    public var mails: MailQueue { MailQueue(database: database) }

    /// What opens event streams.
    public var streamTickets: StreamTickets { StreamTickets(accounts: accounts, database: database) }

    public func makeSession(sink: any ClientSink, peerAddress: String) -> any LineSession {
        Session(service: self, sink: sink, peerAddress: peerAddress)
    }

    public func countRequest(peerAddress: String) async {
        // An address is not refused. A request that was given up meanwhile goes nowhere.
        try? await limits.waitForTurn(of: nil, at: AddressKey(peerAddress))
    }
}

/// What a server says of itself: the params of `server.hello`.
public struct ServerInfo: Sendable {
    public let version: String
    public let maxLineBytes: Int
    public let maxInFlight: Int
    public let pingSeconds: Int

    /// What it has that version 1 of the protocol began without.
    public let features: [String]

    /// The features that need no setting.
    public static let features = ["presence", "typing", "mute"]

    public init(
        version: String, maxLineBytes: Int, maxInFlight: Int, pingSeconds: Int,
        features: [String] = ServerInfo.features
    ) {
        self.features = features
        self.version = version
        self.maxLineBytes = maxLineBytes
        self.maxInFlight = maxInFlight
        self.pingSeconds = pingSeconds
    }

    public var object: JSONObject {
        [
            "server": .string("postline"),
            "version": .string(version),
            "protocol": .integer(1),
            "max_line_bytes": .integer(maxLineBytes),
            "max_in_flight": .integer(maxInFlight),
            "ping_seconds": .integer(pingSeconds),
            "features": .array(features.map { .string($0) }),
        ]
    }
}
