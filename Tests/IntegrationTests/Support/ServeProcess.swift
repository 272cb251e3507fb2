import BoundedWait
import Foundation
import LineClient
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A node in a process of its own, as `postline serve` starts it, with its operations port.
struct ServeProcess: Sendable {
    let command: Command
    let port: Int
    let operationsPort: Int

    /// Starts one, and returns when it serves.
    ///
    /// - Parameters:
    ///   - port: 0 is one of the system's choice.
    ///   - environment: goes before what a server needs.
    ///   - openFiles: how many descriptors it may have; nil leaves that as it is.
    static func start(
        _ database: TestDatabase, _ arguments: [String] = [], port: Int = 0, environment: [String: String] = [:],
        openFiles: Int? = nil
    ) async throws -> ServeProcess {
        let needed = [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "\(port)",
            "POSTLINE_OPERATIONS_PORT": "0",
            // No deadline that a busy machine could reach.
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

    /// Runs one for as long as `body` does.
    static func with<Value: Sendable>(
        _ database: TestDatabase, _ arguments: [String] = [], openFiles: Int? = nil,
        _ body: @Sendable (ServeProcess) async throws -> Value
    ) async throws -> Value {
        let process = try await start(database, arguments, openFiles: openFiles)
        defer { process.command.signal(SIGKILL) }
        return try await body(process)
    }

    /// Tells it to stop, and returns its whole log once it has ended.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        command.signal(SIGTERM)
        #expect(try await command.exit() == 0, sourceLocation: sourceLocation)
        return command.errors
    }

    /// Ends it as `kill -9` does, and returns when it is gone.
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

    func get(_ path: String) async throws -> HTTPAnswer { try await HTTPAnswer.get(path, port: operationsPort) }

    /// Returns the metrics, by name and labels.
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

    /// The processor time that it has used, in seconds; only on Linux.
    func processorSeconds() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(command.processID)/stat", encoding: .utf8)
        // The name, the second field, ends with the last parenthesis; the times are the 14th and the 15th.
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        let ticks = [fields[12], fields[13]].compactMap { Double($0) }.reduce(0, +)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// An answer of the operations port.
struct HTTPAnswer: Sendable {
    let status: Int
    let type: String
    let body: String

    static func get(_ path: String, port: Int) async throws -> HTTPAnswer {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)\(path)"))
        let (data, response) = try await within("the answer of \(path)") {
            try await URLSession.shared.data(from: url)
        }
        let answer = try #require(response as? HTTPURLResponse)
        return HTTPAnswer(
            status: answer.statusCode, type: answer.value(forHTTPHeaderField: "Content-Type") ?? "",
            body: String(decoding: data, as: UTF8.self))
    }
}

extension Command {
    /// The port that the log line of that event names, once it is there.
    func port(of event: String) async throws -> Int {
        let text = try await complains(event)
        let line = text.split(separator: "\n").first { $0.contains(event) }
        let port = line?.split(separator: " ").first { $0.hasPrefix("port=") }?.dropFirst(5)
        return try #require(port.flatMap { Int($0) }, "\(text)")
    }
}
