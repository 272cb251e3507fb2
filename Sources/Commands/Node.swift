import Accounts
import ChangeFeed
import DatabaseAccess
import Foundations
import Gateway
import LineServer
import Logging
import Media
import Messaging
import Metering
import Metrics
import Outbox
import Schema
import ServiceLifecycle
import UnixSignals

/// One server process: the messaging service and the servers in front of it.
struct Node: Sendable {
    let service: MessagingService
    let logger: Logger
    private let settings: Settings
    private let databaseURL: String
    private let lines: LineServer.Configuration
    private let stage = NodeStage()

    /// The picture store, or nil if none is configured.
    private let media: (settings: MediaSettings, store: any MediaStore)?

    /// The sender of device pushes, or nil if none is configured.
    private let pusher: Pusher?

    /// The sender of mails, or nil if none is configured.
    private let mailer: Mailer?

    /// The service that tells a webhook of new reports, or nil if none is configured.
    private let reportNotifier: ReportNotifier?

    /// The service that asks a webhook about held messages, or nil if none is configured.
    private let heldMessageDecider: HeldMessageDecider?

    /// The certificate's reloader, or nil without TLS.
    private let renewal: CertificateRenewal?

    /// The metrics of this process, which has one node.
    private static let registry: MetricsRegistry = {
        let help = [
            LineServer.metricHelp, Gateway.metricHelp, MessagingService.metricHelp, ProcessMemory.metricHelp,
            Pusher.metricHelp, Mailer.metricHelp,
        ]
        let registry = MetricsRegistry(help: help.reduce(into: [:]) { $0.merge($1) { $1 } })
        MetricsSystem.bootstrap(registry)
        return registry
    }()

    /// - Parameter mailWritten: called with the path of each mail that was written to a folder.
    /// - Throws: `SettingsError`.
    init(
        _ settings: Settings, mailWritten: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        self.settings = settings
        logger = .postline(settings.logLevel)
        // First, since a misspelt name is a likely cause of what is missing.
        settings.logUnknownVariables(to: logger)
        databaseURL = try settings.requireDatabaseURL()
        var lines = settings.lines
        lines.version = Postline.version
        // An address that reaches such a limit has all connections, and is refused for that reason.
        if let limit = lines.maxConnectionsPerAddress, limit >= lines.maxConnections {
            lines.maxConnectionsPerAddress = nil
        }
        if settings.hasRateLimits {
            lines.newConnectionsPerAddress = TokenBucket.Rate(tokens: 200, per: .seconds(1), burst: 2_000)
        }
        // The longest waits of a request: for its turn and for a page of `sync.open`, then several times for a pool
        // connection and a full statement.
        lines.requestTimeout = .seconds(60) + (settings.limits.statement + .seconds(5)) * 4
        lines.certificate = try settings.certificate()
        media = try settings.media.settings(jwtSecret: settings.jwtSecret).map { ($0, try $0.store()) }
        if media != nil { lines.features.append("media") }
        let mail = try settings.mail.settings(accounts: settings.accountProvider)
        if mail != nil { lines.features.append("mail") }
        let push = try settings.push.settings()
        if push != nil { lines.features.append("push") }
        self.lines = lines
        if let certificate = lines.certificate {
            renewal = await CertificateRenewal(of: certificate, logger: logger)
        } else {
            renewal = nil
        }
        let keys = try await settings.tokenKeys()
        var configuration = MessagingService.Configuration(
            databaseURL: databaseURL, listenDatabaseURL: settings.listenDatabaseURL ?? databaseURL,
            poolSize: settings.poolSize, limits: settings.limits,
            accountProvider: settings.accountProvider, keys: keys, issuer: settings.jwtIssuer,
            audience: settings.jwtAudience, accessTokenSeconds: settings.accessTokenSeconds,
            refreshReuseSeconds: settings.refreshReuseSeconds,
            refreshSecret: settings.jwtSecret ?? "", rates: settings.hasRateLimits ? settings.rates : nil,
            info: lines.info)
        configuration.maxPushBytes = lines.maxQueueBytes
        configuration.standbyDatabaseURL = settings.replicaDatabaseURL
        configuration.pushPlatforms = push?.platforms ?? []
        configuration.media = media?.store
        configuration.reportRetentionDays = settings.safety.retentionDays
        configuration.retentionDays = settings.safety.messageRetentionDays
        if mail != nil {
            configuration.mail = MailPolicy(
                signInNeedsConfirmedEmail: settings.mail.signInNeedsConfirmedEmail)
        }
        configuration.apple = try settings.apple.signIn(logger: logger)
        service = MessagingService(configuration: configuration, logger: logger, metrics: Self.registry)
        mailer = mail.map { [service, logger] in
            Mailer(
                $0, queue: MailQueue(database: service.database), logger: logger, metrics: Self.registry,
                written: mailWritten)
        }
        reportNotifier = try settings.safety.webhook().map { [service, logger] in
            ReportNotifier($0, database: service.database, logger: logger)
        }
        heldMessageDecider = try settings.safety.filterWebhook().map { [service, logger] in
            HeldMessageDecider(
                $0, fallback: settings.safety.filter.fallback, database: service.database, logger: logger)
        }
        pusher = push.map { [databaseURL, logger] in
            Pusher(
                $0, databaseURL: settings.listenDatabaseURL ?? databaseURL, limits: settings.limits, logger: logger,
                metrics: Self.registry)
        }
    }

    /// Serves health and metrics, if enabled, while `body` runs, which includes waiting for the database and stopping.
    ///
    /// - Parameter body: receives the address of the operations port, or nil if it is off.
    /// - Throws: `SettingsError` or `StartError` if the port cannot be opened, or the error of `body`.
    func observed(_ body: @escaping @Sendable (LineServer.Address?) async throws -> Void) async throws {
        guard let port = settings.operationsPort else { return try await body(nil) }
        let operations = OperationsServer(
            host: settings.operationsHost, port: port, names: settings.operationsNames, registry: Self.registry,
            readiness: { [stage, service] in await stage.readiness(of: service) },
            measure: { [service] in service.measure() }, logger: logger)
        let (addresses, listening) = AsyncStream.makeStream(of: LineServer.Address.self)
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                defer { listening.finish() }
                do {
                    try await operations.run { listening.yield($0) }
                } catch let error as ListenError {
                    throw error.naming(host: "operations_host", port: "operations_port", in: settings)
                }
                return false
            }
            tasks.addTask {
                for await address in addresses {
                    try await body(address)
                    return true
                }
                // The other task throws the reason.
                return false
            }
            defer { tasks.cancelAll() }
            while let isDone = try await tasks.next(), !isDone {}
        }
    }

    /// Checks that this binary can serve the database.
    ///
    /// - Throws: `SettingsError` if it cannot, `MigrationError.unreachable` if the database cannot be reached.
    func requireSchema() async throws {
        if let incompatibility = try await Migrator.incompatibility(url: databaseURL, logger: logger) {
            throw SettingsError(incompatibility)
        }
    }

    /// Waits for the database, and checks that this binary can serve it.
    ///
    /// - Throws: `SettingsError` if the database is not migrated, the login role has excessive rights, or notifications
    ///   do not arrive.
    func awaitDatabase(migrating: Bool) async throws {
        var backoff = Backoff(base: .milliseconds(100), limit: .seconds(5))
        while true {
            do {
                if migrating { _ = try await settings.migrate(logger: logger) }
                try await requireSchema()
                try await checkNotifications()
                return
            } catch MigrationError.unreachable(let why) {
                stage.waits("Waiting for the database: \(why)")
                if backoff.attempts == 0 {
                    logger.warning("waiting for the database", metadata: ["error": "\(why)"])
                }
                try await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Checks that notifications arrive. Without them, changes of other programs and nodes would arrive late.
    private func checkNotifications() async throws {
        let isHeard = try await NotifyPreflight.isHeard(
            notifyingOver: databaseURL, listeningOver: settings.listenDatabaseURL ?? databaseURL, logger: logger)
        if isHeard { return }
        guard settings.listenDatabaseURL == nil else {
            throw SettingsError(
                "Notifications sent over POSTLINE_DATABASE_URL do not arrive over POSTLINE_LISTEN_DATABASE_URL: it must "
                    + "lead to the same database, and not through a pooler that shares connections between sessions.")
        }
        throw SettingsError(
            "LISTEN does not work over POSTLINE_DATABASE_URL: a pooler there shares connections between sessions. "
                + "Set POSTLINE_LISTEN_DATABASE_URL to a URL that leads to PostgreSQL itself.")
    }

    /// Serves until the process is signalled to stop.
    ///
    /// - Parameters:
    ///   - console: the console's page, or nil if it is off.
    ///   - ready: called once the line server and the gateway, if enabled, listen.
    func serve(
        console: Console?, ready: @escaping @Sendable (LineServer.Address, _ http: LineServer.Address?) -> Void
    ) async throws {
        var lines = lines
        lines.maxConnections = DescriptorLimit.raise(forConnections: lines.maxConnections, logger: logger)
        let server = LineServer(configuration: lines, sessions: service, logger: logger, metrics: Self.registry)
        let gateway = gateway(beside: server, console)
        // Services stop in reverse order: clients first, so that accepted requests still have a database.
        let services: [any Service] =
            [service, Servers(settings: settings, lines: server, gateway: gateway), stage]
            + (renewal.map { [$0] } ?? []) + (pusher.map { [$0] } ?? [])
            + (mailer.map { [$0] } ?? []) + (reportNotifier.map { [$0] } ?? [])
            + (heldMessageDecider.map { [$0] } ?? [])
        // At debug level the group would log the services themselves with all their properties.
        var grouping = logger
        grouping.logLevel = max(logger.logLevel, .info)
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: grouping))
        try await withThrowingTaskGroup { tasks in
            tasks.addTask { try await group.run() }
            // If the server cannot listen, the group throws the reason.
            if let address = try? await server.address {
                let http = try? await gateway?.address
                if let http, settings.media.url == nil, let folder = media?.store as? FolderStore {
                    folder.setURL(http.url(isEncrypted: lines.certificate != nil))
                }
                if gateway == nil || http != nil { ready(address, http) }
            }
            try await tasks.waitForAll()
        }
    }

    private func gateway(beside server: LineServer, _ console: Console?) -> Gateway? {
        guard let port = settings.httpPort else { return nil }
        var configuration = settings.gateway
        configuration.host = settings.httpHost ?? lines.host
        configuration.port = port
        configuration.certificate = lines.certificate
        configuration.expectsProxyHeader = lines.expectsProxyHeader
        configuration.version = lines.version
        configuration.maxLineBytes = lines.maxLineBytes
        configuration.pictures = media?.store as? FolderStore
        configuration.console = console
        configuration.console?.pictureOrigins = media?.settings.origins ?? []
        return Gateway(
            configuration: configuration, service: service, lineServer: server, logger: logger, metrics: Self.registry)
    }
}

extension LineServer.Address {
    /// The host and port, with an IPv6 address in brackets.
    var hostAndPort: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Returns the HTTP URL by which this machine reaches the address.
    func url(isEncrypted: Bool) -> String {
        var reached = self
        if ["0.0.0.0", "::"].contains(host) { reached = Self(host: "127.0.0.1", port: port) }
        return "\(isEncrypted ? "https" : "http")://\(reached.hostAndPort)"
    }
}
