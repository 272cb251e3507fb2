import LineClient
import LineServer
import Logging
import Messaging
import Postgres
import ServiceLifecycle

/// A node in this process: the service and its line server on a port of the system's choice.
struct TestNode: Sendable {
    static let secret = "a secret of the tests, of more than 32 bytes"
    static let password = "postline-dev"

    let database: TestDatabase
    let port: Int

    func connect() async throws -> LineClient {
        try await LineClient.connect(host: "127.0.0.1", port: port)
    }

    /// A client that is signed in as one of the dev world, such as `alice`.
    func signedIn(_ name: String) async throws -> LineClient {
        let client = try await connect()
        _ = try await client.call(
            "auth.login", ["email": .string("\(name)@example.com"), "password": .string(Self.password)])
        return client
    }
}

/// What a test may set otherwise than the defaults.
struct NodeSettings: Sendable {
    var poolSize = 4
    var accountKeeper = AccountKeeper.builtin
    var accessTokenSeconds = 3600
    var authenticationSeconds = 60
    var pingSeconds = 30
    var maxQueueBytes = 1_048_576
    var databaseURL: String?
}

/// Runs a node on a database for as long as `body` does.
func withNode<Value: Sendable>(
    _ database: TestDatabase? = nil, _ settings: NodeSettings = NodeSettings(),
    _ body: @Sendable (TestNode) async throws -> Value
) async throws -> Value {
    let database = if let database { database } else { try await TestDatabase.make() }
    var lines = LineServer.Configuration()
    lines.port = 0
    lines.version = "test"
    lines.pingInterval = .seconds(settings.pingSeconds)
    lines.maxQueueBytes = settings.maxQueueBytes
    lines.authenticationTimeout = .seconds(settings.authenticationSeconds)
    let service = MessagingService(
        configuration: .init(
            databaseURL: settings.databaseURL ?? database.url, poolSize: settings.poolSize,
            limits: StatementLimits(statement: .seconds(10), lock: .seconds(5)),
            accountKeeper: settings.accountKeeper,
            keys: try await TokenKeys(secret: TestNode.secret, issuer: "postline", audience: "authenticated"),
            issuer: "postline", audience: "authenticated", accessTokenSeconds: settings.accessTokenSeconds,
            refreshSecret: TestNode.secret, info: lines.info),
        logger: .quiet)
    let server = LineServer(configuration: lines, sessions: service, logger: .quiet)
    let group = ServiceGroup(
        configuration: .init(services: [.init(service: service), .init(service: server)], logger: .quiet))
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        do {
            let value = try await body(TestNode(database: database, port: try await server.address.port))
            await group.triggerGracefulShutdown()
            return value
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
    }
}
