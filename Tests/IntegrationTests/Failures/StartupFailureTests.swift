import Accounts
import LineServer
import Messaging
import Metering
import ServiceLifecycle
import Testing

@Suite("Shutdown during startup", .timeLimit(.minutes(20)))
struct StartupFailureTests {
    /// A service that fails like a line server that cannot listen, while the others have just started.
    private struct Failing: Service {
        struct Failure: Error {}

        let after: Duration

        func run() async throws {
            try await Task.sleep(for: after)
            throw Failure()
        }
    }

    @Test("row 55: a failed service ends all others during startup")
    func failing() async throws {
        try await TestDatabase.with { database in
            let keys = try TokenKeys(secret: TestNode.secret, issuer: "postline", audience: "authenticated")
            for round in 0..<150 {
                let service = MessagingService(
                    configuration: .init(
                        databaseURL: database.url, listenDatabaseURL: database.url, poolSize: 8,
                        limits: NodeSettings().limits, accountProvider: .builtin, keys: keys, issuer: "postline",
                        audience: "authenticated", accessTokenSeconds: 3600, refreshReuseSeconds: 10,
                        refreshSecret: TestNode.secret, rates: nil, info: LineServer.Configuration().info),
                    logger: .quiet, metrics: MetricsRegistry())
                let group = ServiceGroup(
                    configuration: .init(
                        services: [
                            .init(service: service), .init(service: Failing(after: .microseconds(round * 200))),
                        ], logger: .quiet))
                await #expect(throws: Failing.Failure.self) { try await group.run() }
                // PostgreSQL also accepts abandoned connections. Without a limit they fill its queue, and other tests
                // wait.
                if round % 10 == 9 { try await Self.waitForNoConnection(to: database) }
            }
        }
    }

    private static func waitForNoConnection(to database: TestDatabase) async throws {
        try await database.wait(
            for:
                "select count(*)::text from pg_stat_activity where datname = current_database() and usename = 'postline'",
            toBe: "0")
    }
}
