import Foundation
import Gateway
import LineServer
import Logging
import LineClient
import Mail
import Media
import Messaging
import Metering
import Postgres
import ServiceLifecycle

/// A node in this process: the service and its line server on a port of the system's choice.
struct TestNode: Sendable {
    static let secret = "a secret of the tests, of more than 32 bytes"
    static let password = "postline-dev"

    let database: TestDatabase
    let port: Int

    /// Its figures.
    let metrics: MetricsRegistry

    fileprivate let service: MessagingService

    /// True if a load balancer would send clients here.
    var isReady: Bool {
        get async { if case .ready = await service.readiness() { true } else { false } }
    }

    /// The HTTP port.
    let httpPort: Int

    func connect() async throws -> TestClient {
        guard Self.comesByWebSocket else { return try await TestClient.connect(port: port) }
        return try await TestClient.connect(port: httpPort) { [WebSocketClientFraming()] }
    }

    /// True if clients connect by WebSocket.
    private static let comesByWebSocket = ProcessInfo.processInfo.environment["POSTLINE_TEST_WAY"] == "websocket"

    /// A client that is signed in as one of the dev world.
    func signedIn(_ person: Person) async throws -> TestClient {
        let client = try await connect()
        try await client.signIn(person)
        return client
    }

    /// A client of a user who is registered for it: nobody knows it, and it is in no conversation.
    func stranger(_ name: String = "Sam Stranger") async throws -> TestClient {
        let client = try await connect()
        try await client.register(name)
        return client
    }

    /// A client of a new guest.
    func guest(_ name: String? = nil) async throws -> TestClient {
        let client = try await connect()
        try await client.becomeGuest(name)
        return client
    }

    /// A client that is signed in with tokens that another was given.
    func signedIn(with tokens: JSON) async throws -> TestClient {
        let client = try await connect()
        try await client.authenticate(tokens)
        return client
    }
}

/// The settings of a test's node.
struct NodeSettings: Sendable {
    /// 0 is one of the system's choice.
    var port = 0
    var poolSize = 4
    var accountProvider = AccountProvider.builtin
    /// Those of the tests' secret, unless said otherwise.
    var keys: TokenKeys?
    var accessTokenSeconds = 3600
    var refreshReuseSeconds = 10
    var endedSessionGrace: Duration = .seconds(4)

    // No deadline that a busy machine could reach: a test whose promise is one sets its own.
    var poolWait: Duration = .seconds(120)
    var authenticationSeconds = 86_400
    var pingSeconds = 30
    var maxQueueBytes = 1_048_576
    var maxUnwrittenBytes = 1 << 28
    var slowConsumerSeconds = 3_600
    /// Off: all tests come from one address.
    var rates: Rates?
    var databaseURL: String?

    /// As `databaseURL`, unless said otherwise.
    var listenDatabaseURL: String?

    /// Nil: no standby.
    var standbyDatabaseURL: String?
    var limits = StatementLimits(statement: .seconds(60), lock: .seconds(30))
    var logger = Logger.quiet

    /// Off: who comes and goes would be pushed between what a test waits for.
    var presence: PresenceTimes?

    /// Nil: nobody signs in with Apple.
    var apple: AppleSignIn?

    /// Nil: no mail is sent.
    var mail: MailSettings?
    var signInNeedsConfirmedEmail = false

    /// The time after its first request within which a batch over HTTP starts others.
    var maxBatchTime: Duration = .seconds(3_600)

    /// Another server keeps the accounts.
    static let external = NodeSettings(accountProvider: .external)

    /// A folder for pictures of up to a mebibyte; nil: one of all tests, unless none are kept.
    var pictures: String?
    var keepsPictures = true
    var minFreePictureBytes = 0
}

/// Runs a node on a fresh database for as long as `body` does.
func withNode<Value: Sendable>(
    _ settings: NodeSettings = NodeSettings(), _ body: @Sendable (TestNode) async throws -> Value
) async throws -> Value {
    try await TestDatabase.with { database in try await withNode(database, settings, body) }
}

/// Runs two nodes on one fresh database.
func withTwoNodes<Value: Sendable>(
    _ settings: NodeSettings = NodeSettings(), _ body: @Sendable (TestNode, TestNode) async throws -> Value
) async throws -> Value {
    try await withNode(settings) { one in
        try await withNode(one.database, settings) { other in try await body(one, other) }
    }
}

/// Runs a node on a database for as long as `body` does.
func withNode<Value: Sendable>(
    _ database: TestDatabase, _ settings: NodeSettings = NodeSettings(),
    _ body: @Sendable (TestNode) async throws -> Value
) async throws -> Value {
    let metrics = MetricsRegistry()
    var lines = LineServer.Configuration()
    lines.port = settings.port
    lines.version = "test"
    lines.pingInterval = .seconds(settings.pingSeconds)
    lines.maxQueueBytes = settings.maxQueueBytes
    lines.maxUnwrittenBytes = settings.maxUnwrittenBytes
    lines.slowConsumerTimeout = .seconds(settings.slowConsumerSeconds)
    lines.authenticationTimeout = .seconds(settings.authenticationSeconds)
    lines.requestTimeout = .seconds(3_600)
    let keys: TokenKeys
    if let given = settings.keys {
        keys = given
    } else {
        keys = try TokenKeys(secret: TestNode.secret, issuer: "postline", audience: "authenticated")
    }
    var configuration = MessagingService.Configuration(
        databaseURL: settings.databaseURL ?? database.url,
        listenDatabaseURL: settings.listenDatabaseURL ?? settings.databaseURL ?? database.url,
        poolSize: settings.poolSize,
        limits: settings.limits, accountProvider: settings.accountProvider,
        keys: keys, issuer: "postline", audience: "authenticated", accessTokenSeconds: settings.accessTokenSeconds,
        refreshReuseSeconds: settings.refreshReuseSeconds, refreshSecret: TestNode.secret, rates: settings.rates,
        info: lines.info)
    configuration.poolWait = settings.poolWait
    configuration.standbyDatabaseURL = settings.standbyDatabaseURL
    configuration.presence = settings.presence
    // Devices can be registered; a node that pushes is a process of its own (PushSetup).
    configuration.pushPlatforms = Set(DevicePlatform.allCases)
    // Of this run: another may be another user's.
    let shared = "postline-pictures-\(ProcessInfo.processInfo.processIdentifier)"
    let folder = settings.pictures ?? FileManager.default.temporaryDirectory.appending(path: shared).path
    let pictures =
        settings.keepsPictures
        ? try FolderStore(
            .init(
                directory: folder, url: nil, secret: TestNode.secret, maxBytes: 1 << 20,
                minFreeBytes: settings.minFreePictureBytes)) : nil
    configuration.media = pictures
    configuration.apple = settings.apple
    if settings.mail != nil {
        configuration.mail = MailPolicy(signInNeedsConfirmedEmail: settings.signInNeedsConfirmedEmail)
    }
    configuration.endedSessionGrace = settings.endedSessionGrace
    let service = MessagingService(configuration: configuration, logger: settings.logger, metrics: metrics)
    let server = LineServer(configuration: lines, sessions: service, logger: settings.logger, metrics: metrics)
    var http = Gateway.Configuration()
    http.port = 0
    http.pictures = pictures
    http.maxBatchTime = settings.maxBatchTime
    let gateway = Gateway(
        configuration: http, service: service, lineServer: server, logger: settings.logger, metrics: metrics)
    let mailer = settings.mail.map {
        Mailer($0, queue: service.mailQueue, logger: settings.logger, metrics: metrics)
    }
    let services: [any Service] = [service, server, gateway] + (mailer.map { [$0] } ?? [])
    let group = ServiceGroup(
        configuration: .init(services: services.map { .init(service: $0) }, logger: .quiet))
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        do {
            pictures?.setURL("http://127.0.0.1:\(try await gateway.address.port)")
            let value = try await body(
                TestNode(
                    database: database, port: try await server.address.port, metrics: metrics, service: service,
                    httpPort: try await gateway.address.port))
            await group.triggerGracefulShutdown()
            return value
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
    }
}

extension Rates {
    /// Rates that never recover, however long a test takes.
    static var still: Rates {
        var rates = Rates()
        let start = ContinuousClock.now
        rates.now = { start }
        return rates
    }
}
