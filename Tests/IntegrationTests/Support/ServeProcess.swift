import BoundedWait
import Foundation
import Messaging
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A `postline serve` process with its operations port.
struct ServeProcess: Sendable {
    let command: Command
    let port: Int
    let operationsPort: Int

    /// Starts a node, and returns when it serves.
    ///
    /// - Parameters:
    ///   - port: The port, or 0 for one of the system's choice.
    ///   - environment: Settings that override the defaults.
    ///   - openFiles: The limit of descriptors, or nil for the inherited one.
    static func start(
        _ database: TestDatabase, _ arguments: [String] = [], port: Int = 0, environment: [String: String] = [:],
        openFiles: Int? = nil
    ) async throws -> ServeProcess {
        let needed = [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "\(port)",
            "POSTLINE_OPERATIONS_PORT": "0",
            // Each connection costs 6 ms of processor time.
            "POSTLINE_POOL_SIZE": "4",
            // No deadline that a busy machine could exceed.
            "POSTLINE_AUTHENTICATION_SECONDS": "3600",
        ]
        let command = try Command(
            ["serve"] + arguments, environment: needed.merging(environment) { $1 }, openFiles: openFiles)
        do {
            let operationsPort = try await command.port(of: "serving health and metrics")
            let port = try await command.port(of: "serving lines")
            return ServeProcess(command: command, port: port, operationsPort: operationsPort)
        } catch {
            command.signal(SIGKILL)
            throw error
        }
    }

    /// Runs a node while `body` runs.
    static func with<Value: Sendable>(
        _ database: TestDatabase, _ arguments: [String] = [], openFiles: Int? = nil,
        _ body: @Sendable (ServeProcess) async throws -> Value
    ) async throws -> Value {
        let process = try await start(database, arguments, openFiles: openFiles)
        defer { process.command.signal(SIGKILL) }
        return try await body(process)
    }

    /// Stops the node with SIGTERM, and returns its log.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        command.signal(SIGTERM)
        #expect(try await command.exit() == 0, sourceLocation: sourceLocation)
        return command.errors
    }

    /// Kills the node with -9, and returns when it has exited.
    func kill() async throws {
        command.signal(SIGKILL)
        _ = try await command.exit()
    }

    func connect() async throws -> TestClient { try await TestClient.connect(port: port) }

    func signedIn(_ person: Person) async throws -> TestClient {
        let client = try await connect()
        try await client.signIn(person)
        return client
    }

    func get(_ path: String) async throws -> TestHTTPResponse {
        try await TestHTTPResponse.get(path, port: operationsPort)
    }

    /// Returns the values of `/metrics` by name and labels.
    func metrics() async throws -> [String: Double] {
        let text = try await get("/metrics").body
        var metrics: [String: Double] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: " ")
            metrics[fields.dropLast().joined(separator: " ")] = fields.last.flatMap { Double($0) }
        }
        return metrics
    }

    /// Returns the number of open descriptors. Linux only.
    func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(command.processID)/fd").count
    }

    /// Returns the used processor time in seconds. Linux only.
    func processorSeconds() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(command.processID)/stat", encoding: .utf8)
        // The second field, the name, ends with the last parenthesis. The times are fields 14 and 15.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        let ticks = [fields[12], fields[13]].compactMap { Double($0) }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// A response of the operations port.
struct TestHTTPResponse: Sendable {
    let status: Int
    let type: String
    let body: String

    static func get(_ path: String, port: Int) async throws -> TestHTTPResponse {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
        let (data, response) = try await within("the answer of \(path)") {
            try await URLSession.shared.data(from: url)
        }
        let answer = try #require(response as? HTTPURLResponse)
        return TestHTTPResponse(
            status: answer.statusCode, type: answer.value(forHTTPHeaderField: "Content-Type") ?? "",
            body: String(decoding: data, as: UTF8.self))
    }
}

extension Command {
    /// Waits for the log line of an event, and returns its port.
    func port(of event: String) async throws -> Int {
        let text = try await waitForErrors(event)
        let line = text.split(separator: "\n").first { $0.contains(event) }
        let port = line?.split(separator: " ").first { $0.hasPrefix("port=") }?.dropFirst(5)
        return try #require(port.flatMap { Int($0) }, "\(text)")
    }
}
