@testable import Accounts
@testable import ChangeFeed
@testable import DatabaseAccess
import Logging
import Metrics
@testable import Postgres
import Synchronization
@testable import WireProtocol

@testable import Messaging

extension MessagingService {
    /// Returns a service that is not running, so that no request reaches a database.
    static func idle() async throws -> MessagingService {
        let secret = "0123456789abcdef0123456789abcdef"
        let keys = try TokenKeys(secret: secret, issuer: "postline", audience: "authenticated")
        var configuration = Configuration(
            databaseURL: "postgresql:///nowhere", listenDatabaseURL: "postgresql:///nowhere", poolSize: 1,
            limits: StatementLimits(statement: .seconds(1), lock: .seconds(1)), accountProvider: .builtin, keys: keys,
            issuer: "postline", audience: "authenticated", accessTokenSeconds: 60, refreshReuseSeconds: 10,
            refreshSecret: secret, rates: nil,
            info: ServerInfo(version: "1.2.3", maxLineBytes: 65_536, maxInFlight: 64, pingSeconds: 30))
        configuration.poolWait = .milliseconds(10)
        return MessagingService(
            configuration: configuration, logger: Logger(label: "test"), metrics: NOOPMetricsHandler.instance)
    }
}

/// A connection that records the calls of its session.
final class RecordingSink: ClientSink, PushTarget {
    private let reactor = Reactor(name: "sink")
    private let asked = Mutex<[String]>([])

    var orders: [String] { asked.withLock { $0 } }

    var executor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }
    let acceptsPushes = true

    var pushTarget: any PushTarget { self }

    private func note(_ order: String) { asked.withLock { $0.append(order) } }

    func startPushes(cursor: String) { note("startPushes") }
    func stopPushes() { note("stopPushes") }
    func fallBehind() { note("fallBehind") }
    func noteCursor(_ cursor: String) { note("noteCursor") }
    func setExpiry(_ expiry: Expiry?) { note("setExpiry") }
    func goodbye(_ goodbye: Goodbye) { note("goodbye \(goodbye.code.rawValue)") }

    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void) {
        note("push")
        written()
    }
}
