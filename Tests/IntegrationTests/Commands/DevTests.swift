import Foundation
import Testing
@testable import WireProtocol

@Suite("postline dev", .timeLimit(.minutes(20)))
struct DevTests {
    @Test("refuses a foreign directory, a database and unknown flags")
    func refusals() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "dev-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let settings = "\(directory)/settings.json"
        try "mine".write(toFile: settings, atomically: true, encoding: .utf8)

        let foreign = try await Command.run(["dev", "--directory", directory])
        #expect(foreign.status == 78)
        #expect(foreign.errors.contains("postline: \(directory) is neither empty nor a dev world"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["settings.json"])
        #expect(try String(contentsOfFile: settings, encoding: .utf8) == "mine")

        let named = try await Command.run([
            "dev", "--directory", "\(directory)/new", "--database-url", "postgres://x/y",
        ])
        #expect(named.status == 78)
        #expect(named.errors.contains("not --database-url"))
        let unknown = try await Command.run(["dev", "--directory", "\(directory)/new", "--colour"])
        #expect(unknown.status == 78)
        #expect(
            unknown.errors
                == "postline: Unknown option '--colour'. `postline dev --help` lists those that there are.\n")
        #expect(!FileManager.default.fileExists(atPath: "\(directory)/new"))
    }

    @Test("a refused start leaves the disk as it was")
    func refusedStart() async throws {
        let parent = FileManager.default.temporaryDirectory.appending(path: "dev-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: "\(parent)/empty", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: parent) }
        try await withTwoNodes { node, other in
            for directory in ["\(parent)/new", "\(parent)/empty"] {
                let refused = try await Command.run(["dev", "--directory", directory, "--port", "\(node.port)"])
                #expect(refused.status != 0 && refused.errors.contains("\(node.port)"), "\(refused.errors)")
            }
            let both = try await Command.run([
                "dev", "--directory", "\(parent)/new", "--port", "\(node.port)", "--http-port", "\(other.port)",
                "--operations-port", "0",
            ])
            #expect(
                both.errors == "postline: Cannot listen on 127.0.0.1, port \(node.port): the port is in use. "
                    + "Cannot listen on 127.0.0.1, port \(other.port): the port is in use. "
                    + "Stop what listens there, or set --port, --http-port to others.\n")
            let weak = try await Command.run(["dev", "--directory", "\(parent)/new", "--jwt-secret", "short"])
            #expect(weak.status == 78)
            #expect(try FileManager.default.contentsOfDirectory(atPath: parent) == ["empty"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(parent)/empty").isEmpty)
            _ = try await Self.greeted(in: "\(parent)/world") { _ in }
            let again = try await Command.run(["dev", "--directory", "\(parent)/world", "--port", "\(node.port)"])
            #expect(again.status != 0 && FileManager.default.fileExists(atPath: "\(parent)/world/data/PG_VERSION"))
        }
    }

    @Test("doctor --directory checks the dev world's ports")
    func doctor() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "dev-\(UUID().uuidString.prefix(8))")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let dev = try Command([
            "dev", "--directory", directory, "--port", "0", "--http-port", "0", "--operations-port", "off",
        ])
        defer { dev.signal(SIGKILL) }
        let greeting = try await dev.waitForOutput("stop: ")
        let port = try #require(greeting.firstMatch(of: /lines: 127\.0\.0\.1:(\d+)/)?.1)
        // A variable that points elsewhere is ignored.
        let doctor = try await Command.run(
            ["doctor", "--directory", directory], environment: ["POSTLINE_PORT": "1", "POSTLINE_DATABASE_URL": "x"])
        #expect(doctor.status == 0, "\(doctor.output)\(doctor.errors)")
        #expect(doctor.output.contains(":\(port)"), "\(doctor.output)")
        let both = try await Command.run(["doctor", "--directory", directory, "--config", "x.json"])
        #expect(both.status == 64 && both.errors.contains("leave --config out"))
        let none = try await Command.run(["doctor", "--directory", "\(directory)-none"])
        #expect(none.status == 78 && none.errors.contains("holds no dev world"))
        dev.signal(SIGINT)
        #expect(try await dev.exit() == 0)
    }

    // E19, E20
    @Test("ignores libpq's variables, and prints IPv6 addresses in brackets")
    func environment() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "dev $x-\(UUID().uuidString.prefix(8))")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let variables = [
            "PGPORT": "1", "PGHOST": "nowhere.invalid", "PGHOSTADDR": "192.0.2.1", "PGSERVICE": "missing",
            "PGSERVICEFILE": "/nowhere", "PGDATABASE": "other", "PGUSER": "other", "PGPASSWORD": "x",
            "PGPASSFILE": "/nowhere", "PGOPTIONS": "-c role=nobody", "PGSSLMODE": "verify-full",
            "PGSSLROOTCERT": "/nowhere",
            "PGTARGETSESSIONATTRS": "standby", "PGREQUIREAUTH": "md5", "PGCHANNELBINDING": "require",
            "PGGSSENCMODE": "require", "PGCONNECT_TIMEOUT": "1", "PGCLIENTENCODING": "LATIN1", "PGDATESTYLE": "German",
            "PGTZ": "Mars", "PGDATA": "/nowhere", "PGAPPNAME": "other", "PGLOADBALANCEHOSTS": "random",
        ]
        let dev = try Command(
            [
                "dev", "--directory", directory, "--port", "0", "--host", "::1", "--operations-host", "::1",
                "--operations-port", "0", "--http-host", "::1", "--http-port", "0",
            ],
            environment: variables)
        defer { dev.signal(SIGKILL) }
        let greeting = try await dev.waitForOutput("stop: ")
        #expect(greeting.contains(/lines: \[::1\]:\d+/), "\(greeting)")
        #expect(greeting.contains(/console: http:\/\/\[::1\]:\d+\//), "\(greeting)")
        #expect(greeting.contains(/operations: http:\/\/\[::1\]:\d+\/metrics/), "\(greeting)")
        #expect(greeting.contains(/try: .* chat alice@example.com --port \d+ --host ::1/), "\(greeting)")
        #expect(greeting.contains("--config '\(directory)/settings.json'"), "\(greeting)")
        dev.signal(SIGINT)
        #expect(try await dev.exit() == 0)
    }

    @Test("a restart lists the seed's users that still have its password")
    func people() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "dev-\(UUID().uuidString.prefix(8))")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let first = try await Self.greeted(in: directory) { client in
            _ = try await client.call(
                "auth.register", ["email": "robin@example.com", "password": "one of my own", "full_name": "Robin Ray"])
        }
        #expect(first == Person.allCases.map { "user: \($0.email) postline-dev" })
        let second = try await Self.greeted(in: directory) { client in
            try await client.signIn(.bob)
            _ = try await client.call(
                "auth.change_password", ["current_password": "postline-dev", "new_password": "one of my own"])
        }
        #expect(second == first)
        let third = try await Self.greeted(in: directory) { _ in }
        #expect(third == first.filter { !$0.contains(Person.bob.email) })
    }

    /// Returns the users that a start of the dev world lists, after `body` has changed something.
    private static func greeted(
        in directory: String, _ body: (TestClient) async throws -> Void
    ) async throws -> [String] {
        let dev = try Command(["dev", "--directory", directory, "--port", "0"])
        defer { dev.signal(SIGKILL) }
        let greeting = try await dev.waitForOutput("stop: ")
        let port = try #require(greeting.firstMatch(of: /lines: 127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) })
        let client = try await TestClient.connect(port: port)
        try await body(client)
        await client.close()
        dev.signal(SIGINT)
        #expect(try await dev.exit() == 0)
        return greeting.split(separator: "\n").filter { $0.hasPrefix("user: ") }.map(String.init)
    }
}
