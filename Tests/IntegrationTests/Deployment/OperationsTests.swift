import BoundedWait
import Foundation
import LineClient
import Postgres
import PrivatePostgres
import Testing
import WireProtocol

@Suite("Operations port", .timeLimit(.minutes(20)))
struct OperationsTests {
    @Test("/metrics counts requests and every limit that was reached")
    func limits() async throws {
        try await TestDatabase.with { database in
            let arguments = [
                "--max-connections", "6", "--max-connections-per-address", "5", "--send-burst", "3",
                "--sends-per-second", "1", "--searches-per-second", "1", "--failed-logins-per-minute", "2",
                "--sign-ins-per-minute", "8",
            ]
            try await ServeProcess.with(database, arguments) { node in
                let alice = try await node.signedIn(.alice)
                let message: JSONObject = ["conversation_id": .string(Room.aliceBob), "content": "again"]
                let sends = try await Self.limited(alice, "messages.send", message)
                let searches = try await Self.limited(alice, "profiles.search", ["query": "bob"])
                let guesser = try await node.connect()
                let guess: JSONObject = ["email": "bob@example.com", "password": "wrong"]
                for _ in 0..<2 { try await guesser.refused(.invalidCredentials, "auth.login", guess) }
                try await guesser.refused(.rateLimited, "auth.login", guess)
                // Each account is tried once, so that the address's limit applies.
                try await eventually("the bound of the address") {
                    let email = JSON.string("\(UInt64.random(in: 0 ... .max))@example.com")
                    do {
                        try await guesser.call("auth.login", ["email": email, "password": "wrong"])
                        return false
                    } catch let error as RemoteError {
                        return error.code == "rate_limited"
                    }
                }
                try await guesser.refused(.unknownMethod, "no.such.method")
                try await guesser.refused(.unknownMethod, "another")

                var clients = [alice, guesser]
                for _ in 0..<3 { clients.append(try await node.connect()) }
                for _ in 0..<4 {
                    await #expect {
                        try await node.connect()
                    } throws: {
                        guard case .closed(let goodbye?)? = $0 as? ConnectionError else { return false }
                        return goodbye.code == "too_many_connections" && goodbye.message.contains("from your address")
                    }
                }
                for _ in 0..<3 { #expect(try await clients[0].call("me.get")["username"] == "alice") }

                let metrics = try await node.metrics()
                #expect(metrics[#"postline_rate_limited_total{limit="sends"}"#] == 1)
                #expect(metrics[#"postline_rate_limited_total{limit="searches"}"#] == 1)
                #expect(metrics[#"postline_rate_limited_total{limit="failed_logins"}"#] == 1)
                #expect(metrics[#"postline_rate_limited_total{limit="sign_ins"}"#] == 1)
                #expect(
                    metrics[#"postline_request_duration_seconds_count{code="ok",method="messages.send"}"#]
                        == Double(sends))
                #expect(
                    metrics[#"postline_request_duration_seconds_count{code="ok",method="profiles.search"}"#]
                        == Double(searches))
                #expect(metrics[#"postline_request_duration_seconds_count{code="ok",method="me.get"}"#] == 3)
                #expect(
                    metrics[#"postline_request_duration_seconds_count{code="rate_limited",method="messages.send"}"#]
                        == 1)
                #expect(
                    metrics[#"postline_request_duration_seconds_count{code="unknown_method",method="unknown"}"#] == 2)
                #expect(metrics["postline_connections"] == 5)
                #expect(metrics[#"postline_connections_rejected_total{reason="from_address"}"#] == 4)
                #expect(metrics[#"postline_connections_rejected_total{reason="in_all"}"#] == 0)
                #expect((metrics["postline_pool_wait_seconds_count"] ?? 0) > 10)
                #expect((metrics["postline_feed_poll_duration_seconds_count"] ?? 0) > 1)
                #expect((metrics["process_resident_memory_bytes"] ?? 0) > 1_000_000)
                for client in clients { await client.close() }
            }
        }
    }

    // A11.
    @Test("the operations port accepts addresses, local and allowed names")
    func hosts() async throws {
        let rows: [(host: String?, isAnswered: Bool)] = [
            ("127.0.0.1", true), ("127.0.0.1:7480", true), ("[::1]:7480", true), ("192.0.2.7", true),
            ("localhost", true), ("LOCALHOST:7480", true), ("localhost.", true), ("postline", true),
            ("postline-1:7480", true),
            ("a.localhost", true), ("node.local", true), ("postline.ns.svc.cluster.local:7480", true),
            ("host.docker.internal", true), ("node1.example.com", true), ("Node1.Example.COM:7480", true),
            ("node1.example.com.", true), (nil, true),
            ("example.com", false), ("rebind.attacker.example:7480", false), ("node2.example.com", false),
            ("node1.example.com.attacker.example", false), ("127.0.0.1.nip.io", false), ("local.example", false),
            ("localhost.example.com", false), ("xlocal.de", false), ("1.2.3.4.5", false), ("a.notlocal", false),
        ]
        // The host of an absolute target counts, too.
        let targets: [(target: String, host: String?, isAnswered: Bool)] = [
            ("http://localhost/healthz", "localhost", true),
            ("http://node1.example.com:7480/healthz", "127.0.0.1", true),
            ("https://[::1]/healthz", "localhost", true), ("http://localhost/healthz", nil, true),
            ("http://example.com/healthz", "localhost", false), ("http://example.com/healthz", "example.com", false),
            ("http://localhost/healthz", "example.com", false), ("http://example.com/healthz", nil, false),
        ]
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--operations-names", "node1.example.com, other.example"]) { node in
                let paths = ["/healthz", "/readyz", "/metrics"]
                let requests =
                    targets
                    + paths.flatMap { path in
                        rows.map { (target: path, host: $0.host, isAnswered: $0.isAnswered) }
                    }
                for (target, host, isAnswered) in requests {
                    let version = host == nil ? "HTTP/1.0" : "HTTP/1.1"
                    let field = host.map { "Host: \($0)\r\n" } ?? ""
                    let request = "GET \(target) \(version)\r\n\(field)Connection: close\r\n\r\n"
                    let expected = isAnswered ? "HTTP/1.1 200" : "HTTP/1.1 421"
                    // On a busy machine the node may not be ready for a moment, which /readyz then says.
                    try await eventually("\(expected) from \(target) for the host \(host ?? "none")") {
                        let answer = try await RawSocketClient.connect(port: node.operationsPort).exchange(
                            Array(request.utf8))
                        return String(decoding: answer.prefix(12), as: UTF8.self) == expected
                    }
                }
            }
        }
    }

    @Test("/metrics is Prometheus text with help for each metric")
    func format() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let alice = try await node.signedIn(.alice)
                try await alice.call("me.get")
                let answer = try await node.get("/metrics")
                #expect(answer.status == 200)
                #expect(answer.type == "text/plain; version=0.0.4; charset=utf-8")
                let lines = answer.body.split(separator: "\n")
                let typed = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
                let explained = lines.filter { $0.hasPrefix("# HELP ") }.map { $0.split(separator: " ")[2] }
                #expect(typed.count > 8)
                #expect(typed == explained)
                #expect(Set(typed).count == typed.count)
                let sample = #/[a-z_]+(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})? [-+0-9.eInf]+/#
                for line in lines where !line.hasPrefix("#") {
                    #expect(try sample.wholeMatch(in: String(line)) != nil, "\(line)")
                }
                #expect(try await node.get("/nothing").status == 404)
                await alice.close()
            }
        }
    }

    @Test("/readyz is 503 while PostgreSQL is down; /healthz stays 200")
    func readiness() async throws {
        try await withPrivateServer { postgres, database in
            try await postgres.stop()
            // Also while it waits for its database at the start.
            let command = try Command(
                ["serve"],
                environment: [
                    "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret,
                    "POSTLINE_PORT": "0",
                ])
            defer { command.signal(SIGKILL) }
            let port = try await command.port(of: "serving health and metrics")
            func expect(_ status: Int, _ sentence: String) async throws {
                let answer: TestHTTPResponse = try await eventually("\(status) of /readyz") {
                    let answer = try await TestHTTPResponse.get("/readyz", port: port)
                    return answer.status == status && answer.body.contains(sentence) ? answer : nil
                }
                #expect(answer.body.split(separator: "\n", omittingEmptySubsequences: false).last == "")
                #expect(try await TestHTTPResponse.get("/healthz", port: port).status == 200)
            }
            try await expect(503, "Waiting for the database")
            try await postgres.start()
            try await expect(200, "ready, feed lag 0.")
            for _ in 0..<2 {
                try await postgres.stop()
                try await expect(503, "The database cannot be reached")
                try await postgres.start()
                try await expect(200, "ready, feed lag ")
            }
            command.signal(SIGTERM)
            #expect(try await command.exit() == 0)
            #expect(!command.errors.contains(" error "), "\(command.errors)")
        }
    }

    @Test("reports an operations port in use; off disables it")
    func ports() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let environment = [
                    "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0",
                ]
                let taken = try await Command.run(
                    ["serve", "--operations-port", "\(node.operationsPort)"], environment: environment)
                #expect(taken.status == 1)
                #expect(
                    taken.errors.contains(
                        "postline: Cannot listen on 127.0.0.1, port \(node.operationsPort): the port is in use. "
                            + "Stop what listens there, or set --operations-port to another."))
                let silent = try Command(["serve", "--operations-port", "off"], environment: environment)
                defer { silent.signal(SIGKILL) }
                let client = try await TestClient.connect(port: try await silent.port(of: "serving lines"))
                try await client.call("server.info")
                await client.close()
                silent.signal(SIGTERM)
                #expect(try await silent.exit() == 0)
                #expect(!silent.errors.contains("serving health and metrics"))
            }
        }
    }

    @Test("closes slow requests beyond 64, and answers other clients")
    func slowRequests() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let before = try node.descriptors()
                let half = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".utf8)
                try await withThrowingTaskGroup { group in
                    for _ in 0..<300 {
                        let peer = try await RawSocketClient.connect(port: node.operationsPort)
                        group.addTask {
                            let answer = try await peer.exchange(half)
                            #expect(answer.isEmpty)
                        }
                    }
                    for path in ["/healthz", "/readyz", "/metrics"] {
                        #expect(try await node.get(path).status == 200, "\(path)")
                    }
                    #if os(Linux)
                    try await eventually("the surplus to be closed") { try node.descriptors() <= before + 64 + 8 }
                    #endif
                    // The node closes each of them.
                    try await group.waitForAll()
                }
                #expect(try await node.get("/healthz").status == 200)
            }
        }
    }

    @Test("refuses an oversized request head, and closes the connection")
    func largeHead() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let heads = [
                    "GET /healthz HTTP/1.1\r\nX: " + String(repeating: "x", count: 40_000) + "\r\n\r\n",
                    "GET /healthz HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 1_000) + "\r\n",
                ]
                for head in heads {
                    let answer = try await RawSocketClient.connect(port: node.operationsPort).exchange(Array(head.utf8))
                    #expect(answer.isEmpty || String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 431 "))
                }
                #expect(try await node.get("/healthz").status == 200)
            }
        }
    }

    @Test("/metrics has the feed's batches and lag during an outage")
    func feedFigures() async throws {
        try await withPrivateServer { postgres, database in
            try await ServeProcess.with(database) { node in
                let before = try await node.metrics()["postline_feed_batch_changes_sum"] ?? 0
                try await database.psql(
                    """
                    insert into public.messages (conversation_id, sender_id, content)
                        select '\(Room.aliceBob)', '\(Person.alice.id)', n::text from generate_series(1, 20) n
                    """)
                try await Self.reach(node, "the batch") { ($0["postline_feed_batch_changes_sum"] ?? 0) >= before + 20 }
                #expect((try await node.metrics()["postline_feed_lag_seconds"] ?? 100) < 5)
                try await postgres.stop()
                try await Self.reach(node, "lag") { ($0["postline_feed_lag_seconds"] ?? 0) > 2 }
                try await postgres.start()
                try await Self.reach(node, "no lag") { ($0["postline_feed_lag_seconds"] ?? 100) < 2 }
            }
        }
    }

    @Test("/metrics shows a notification queue that a session blocks")
    func notificationQueue() async throws {
        try await TestDatabase.with { database in
            let listener = try await database.connect()
            _ = try await listener.execute("listen another_channel")
            _ = try await listener.execute("begin; select 1")
            try await database.psql(
                "select pg_notify('another_channel', repeat('x', 7000) || n) from generate_series(1, 20) n")
            try await ServeProcess.with(database) { node in
                try await Self.reach(node, "a part of the queue") {
                    let usage = $0["postline_notification_queue_usage_ratio"] ?? 0
                    return usage > 0 && usage < 0.5
                }
            }
            await listener.close()
        }
    }

    @Test("/metrics has queued hashes and refused sign-ins")
    func hashing() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--rate-limits", "off"]) { node in
                // More than can be hashed and queued on a machine with fewer than a hundred processors.
                let clients = try await (0..<150).asyncMap { _ in try await node.connect() }
                let outcomes = Task {
                    try await concurrentOutcomes(clients) { client in
                        try await client.call("auth.login", ["email": "nobody@example.com", "password": "a password"])
                    }
                }
                try await Self.reach(node, "a queue") { ($0["postline_hashing_queue"] ?? 0) > 10 }
                let refused = try await outcomes.value.count { $0 == "rate_limited" }
                #expect(refused > 0)
                let metrics = try await node.metrics()
                #expect(metrics["postline_hashing_rejected_total"] == Double(refused))
                #expect(metrics["postline_hashing_queue"] == 0)
                for client in clients { await client.close() }
            }
        }
    }

    /// Waits until the metrics have the expected values.
    private static func reach(
        _ node: ServeProcess, _ what: String, _ isReached: ([String: Double]) -> Bool
    ) async throws {
        try await eventually(what) { isReached(try await node.metrics()) }
    }

    /// Calls until `rate_limited`, and returns the number of calls before.
    private static func limited(_ client: TestClient, _ method: String, _ params: JSONObject) async throws -> Int {
        for number in 0..<1_000 {
            do {
                try await client.call(method, params)
            } catch let error as RemoteError where error.code == "rate_limited" {
                return number
            } catch is RemoteError {
                continue
            }
        }
        return 1_000
    }
}
