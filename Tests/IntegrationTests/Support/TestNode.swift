import Accounts
import ChangeFeed
import DatabaseAccess
import Foundation
import Foundations
import Gateway
import LineServer
import Logging
import LineClient
import Media
@testable import Messaging
import Metering
import Outbox
import Postgres
import ServiceLifecycle
import Testing
import WireProtocol

/// A node in this process, with its service and line server on a port of the system's choice.
struct TestNode: Sendable {
    static let secret = "a secret of the tests, of more than 32 bytes"
    static let password = "postline-dev"

    let database: TestDatabase
    let port: Int

    /// The node's metrics.
    let metrics: MetricsRegistry

    fileprivate let service: MessagingService

    /// True if the node is ready for clients.
    var isReady: Bool {
        get async { if case .ready = await service.readiness() { true } else { false } }
    }

    /// The number of `sync.open` requests that wait for another of their user.
    var waitingSyncs: Int {
        get async { await service.sync.userTurns.waitingCount }
    }

    /// The number of batches over HTTP that wait for others of their user.
    var waitingBatches: Int {
        get async { await service.batches.waitingCount }
    }

    /// Runs a body in place of a check of an upload by a user at the loopback address.
    func withFileCheck(by person: Person, _ body: @escaping @Sendable () async -> Void) async throws {
        try await service.fileChecks.run(for: RequestOwner(person.id, in: .users(AddressKey("127.0.0.1")))) {
            () async throws(ProtocolError) in await body()
        }
    }

    /// The number of checks of uploads that wait for others.
    var waitingFileChecks: Int {
        get async { await service.fileChecks.waitingCount }
    }

    /// The HTTP port.
    let httpPort: Int

    /// The number of requests that waited for the limits of their clients.
    var delayedRequests: Double { metrics.value("postline_requests_delayed_total") ?? 0 }

    /// Counts requests of clients at the loopback address without a user, as if they had sent them.
    func countRequests(_ count: Int) async throws {
        for _ in 0..<count { try await service.admitRequest(peerAddress: "127.0.0.1", bytes: 0, canWait: true) }
    }

    func connect() async throws -> TestClient {
        guard Self.comesByWebSocket else { return try await TestClient.connect(port: port) }
        return try await TestClient.connect(port: httpPort) { [WebSocketClientFraming()] }
    }

    /// True if clients connect by WebSocket, to run the same tests over it.
    private static let comesByWebSocket = ProcessInfo.processInfo.environment["POSTLINE_TEST_WAY"] == "websocket"

    /// Returns a client that is signed in as a user of the dev world.
    func signedIn(_ person: Person) async throws -> TestClient {
        let client = try await connect()
        try await client.signIn(person)
        return client
    }

    /// Returns an access token of a person.
    func accessToken(of person: Person) async throws -> String {
        try #require(try await connect().logIn(person.email)["access_token"]?.stringValue)
    }

    /// Returns a client of a new user without conversations.
    func stranger(_ name: String = "Sam Stranger") async throws -> TestClient {
        let client = try await connect()
        try await client.register(name)
        return client
    }

    /// Returns a client of a new guest.
    func guest(_ name: String? = nil) async throws -> TestClient {
        let client = try await connect()
        try await client.becomeGuest(name)
        return client
    }

    /// Returns a client that is authenticated with another client's tokens.
    func signedIn(with tokens: JSON) async throws -> TestClient {
        let client = try await connect()
        try await client.authenticate(tokens)
        return client
    }
}

/// The settings that a test can change.
struct NodeSettings: Sendable {
    /// The port, or 0 for one of the system's choice.
    var port = 0
    /// Small, since each connection costs 6 ms of processor time. Tests of concurrency set more.
    var poolSize = 2
    var accountProvider = AccountProvider.builtin
    /// The token keys, or nil for the tests' secret.
    var keys: TokenKeys?
    var accessTokenSeconds = 3600
    var refreshReuseSeconds = 10
    var endedSessionGrace: Duration = .seconds(4)

    // No deadline that a busy machine could exceed. Tests of a deadline set their own.
    var poolWait: Duration = .seconds(120)
    var authenticationSeconds = 86_400
    var pingSeconds = 30
    var maxQueueBytes = 1_048_576
    var maxUnwrittenBytes = 1 << 27
    var slowConsumerSeconds = 3_600
    /// The rate limits. Off by default, since all tests share an address.
    var rates: Rates?
    var databaseURL: String?

    /// The listener's URL, by default `databaseURL`.
    var listenDatabaseURL: String?

    /// The standby's URL, or nil without a standby.
    var standbyDatabaseURL: String?
    var limits = StatementLimits(statement: .seconds(60), lock: .seconds(30))
    var logger = Logger.quiet

    /// The presence settings. Off by default, since presence would be pushed between expected pushes.
    var presence: PresenceTimes?

    /// The least time between reports of delivered messages. Off by default, since they would be pushed likewise.
    var deliveryInterval: Duration?

    /// Sign in with Apple, or nil if off.
    var apple: AppleSignIn?

    /// The mail settings, or nil to send none.
    var mail: MailSettings?
    var signInNeedsConfirmedEmail = false

    /// The time after its first request in which a batch over HTTP starts others.
    var maxBatchTime: Duration = .seconds(3_600)

    /// Settings with accounts of another server.
    static let external = NodeSettings(accountProvider: .external)

    /// A directory for pictures of up to a mebibyte. By default all tests share one, if pictures are kept.
    var pictures: String?
    var keepsPictures = true
    var minFreePictureBytes = 0
    var mediaBytesPerUser = 10 << 30
}

/// Runs a node on a new database while `body` runs.
func withNode<Value: Sendable>(
    _ settings: NodeSettings = NodeSettings(), _ body: @Sendable (TestNode) async throws -> Value
) async throws -> Value {
    try await TestDatabase.with { database in try await withNode(database, settings, body) }
}

/// Runs two nodes on one new database.
func withTwoNodes<Value: Sendable>(
    _ settings: NodeSettings = NodeSettings(), _ body: @Sendable (TestNode, TestNode) async throws -> Value
) async throws -> Value {
    try await withNode(settings) { one in
        try await withNode(one.database, settings) { other in try await body(one, other) }
    }
}

/// Runs a node on a database while `body` runs.
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
    configuration.deliveryInterval = settings.deliveryInterval
    // Devices can register. Nodes that send device pushes are separate processes (PushSetup).
    configuration.pushPlatforms = Set(DevicePlatform.allCases)
    // One per run, since another may belong to another user.
    let shared = "postline-pictures-\(ProcessInfo.processInfo.processIdentifier)"
    let folder = settings.pictures ?? FileManager.default.temporaryDirectory.appending(path: shared).path
    let pictures =
        settings.keepsPictures
        ? try FolderStore(
            .init(
                directory: folder, url: nil, secret: TestNode.secret,
                limits: MediaLimits(pictures: 1 << 20, others: 4 << 20, user: settings.mediaBytesPerUser),
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
        Mailer($0, queue: MailQueue(database: service.database), logger: settings.logger, metrics: metrics)
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
    /// Rate limits that do not refill, however long a test takes.
    static var withoutRefill: Rates {
        var rates = Rates()
        let start = ContinuousClock.now
        rates.now = { start }
        return rates
    }
}
