import BoundedWait
import Foundation
import Postline
import Testing

/// A run of a scenario of `Tests/Conformance` with the clients of one library.
struct ScenarioRun {
    /// A client program and the proxies between it and the node.
    private struct Device {
        var process: ClientProcess
        let proxies: [TCPProxy]
    }

    private let database: TestDatabase
    private let library: ClientProcess.Library
    private var node: ServeProcess
    private let ports: (line: Int, http: Int)
    /// The folder of the node's files.
    private let mediaFolder: URL
    private var devices: [String: Device] = [:]
    private var values: [String: JSONValue]

    /// Runs all steps of a scenario against a new node.
    static func run(_ steps: [JSONValue], with library: ClientProcess.Library, on database: TestDatabase) async throws {
        let ports = (line: try await unusedPort(), http: try await unusedPort())
        let mediaFolder = FileManager.default.temporaryDirectory.appending(path: "postline-media-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: mediaFolder) }
        var run = ScenarioRun(
            database: database, library: library, node: try await start(database, ports, mediaFolder), ports: ports,
            mediaFolder: mediaFolder, values: namedValues)
        for (index, step) in steps.enumerated() {
            do {
                try await run.perform(step)
            } catch {
                let errors = run.devices.values.map(\.process.errors).joined(separator: "\n")
                Issue.record("step \(index + 1), \(step.json): \(error)\n\(errors)")
                break
            }
        }
        for device in run.devices.values {
            device.process.end()
            for proxy in device.proxies { proxy.close() }
        }
        run.node.command.signal(SIGKILL)
    }

    private static let namedValues: [String: JSONValue] = [
        "alps": .string(Room.alps), "alice-bob": .string(Room.aliceBob), "alice-carol": .string(Room.aliceCarol),
    ].merging(Person.allCases.map { ($0.rawValue, .string($0.id)) }) { $1 }

    private static func start(
        _ database: TestDatabase, _ ports: (line: Int, http: Int), _ mediaFolder: URL
    ) async throws -> ServeProcess {
        try await ServeProcess.start(
            database, port: ports.line,
            environment: [
                "POSTLINE_HTTP_PORT": "\(ports.http)", "POSTLINE_RATE_LIMITS": "off",
                "POSTLINE_MEDIA_DIR": mediaFolder.path, "POSTLINE_MEDIA_URL": "http://127.0.0.1:\(ports.http)",
                "POSTLINE_MEDIA_MIN_FREE_BYTES": "0",
            ])
    }

    private mutating func perform(_ step: JSONValue) async throws {
        guard case .object(let members) = step else { throw ScenarioError("a step is an object") }
        func name(_ key: String) -> String? { members[key]?.text }
        if let device = name("start") {
            let proxies = [try await TCPProxy(to: ports.line), try await TCPProxy(to: ports.http)]
            devices[device] = Device(
                process: try ClientProcess(library, linePort: proxies[0].port, httpPort: proxies[1].port),
                proxies: proxies)
        } else if let device = name("client") {
            if let expected = members["shows"] {
                try await waitUntil(device, shows: try resolved(expected))
            } else if let action = name("do") {
                try await request(action, of: device, members)
            } else {
                throw ScenarioError("a step of a client has do or shows")
            }
        } else if let device = name("kill") {
            try await devices[device]?.process.kill()
        } else if let device = name("relaunch") {
            try devices[device]?.process.relaunch()
        } else if let device = name("cut") {
            for proxy in devices[device]?.proxies ?? [] { proxy.cut() }
        } else if let device = name("mend") {
            for proxy in devices[device]?.proxies ?? [] { proxy.mend() }
        } else if let statement = name("sql") {
            try await database.psql(filled(statement))
        } else if name("node") == "kill" {
            try await node.kill()
        } else if name("node") == "start" {
            node = try await Self.start(database, ports, mediaFolder)
        } else if let device = name("equal") {
            try await waitUntilEqual(device)
        } else {
            throw ScenarioError("the step is unknown")
        }
    }

    private func process(of device: String) throws -> ClientProcess {
        guard let process = devices[device]?.process else { throw ScenarioError("\(device) is not started") }
        return process
    }

    private mutating func request(_ action: String, of device: String, _ members: [String: JSONValue]) async throws {
        var process = try process(of: device)
        let params = try members.filter { !["client", "do", "save", "error", "result"].contains($0.key) }.mapValues(
            resolved)
        do {
            let result = try await process.request(action, params)
            if let error = members["error"] {
                throw ScenarioError("expected the error \(error.json), received \(result.json)")
            }
            if let expected = try members["result"].map(resolved), !result.contains(expected) {
                throw ScenarioError("expected \(expected.json), received \(result.json)")
            }
            if case .object(let saved)? = members["save"] {
                for (field, name) in saved {
                    guard let value = result[field] else { throw ScenarioError("the result has no \(field)") }
                    values[name.text ?? ""] = value
                }
            }
        } catch let failure as ClientProcess.Failure where members["error"]?["code"]?.text == failure.code {
            // The expected error.
        }
        devices[device]?.process = process
    }

    /// Replaces texts that start with `$` by the values that they name.
    private func resolved(_ value: JSONValue) throws -> JSONValue {
        switch value {
        case .string(let text) where text.hasPrefix("$"):
            guard let value = values[String(text.dropFirst())] else { throw ScenarioError("nothing is named \(text)") }
            return value
        case .array(let elements): return .array(try elements.map(resolved))
        case .object(let members): return .object(try members.mapValues(resolved))
        default: return value
        }
    }

    /// Replaces `:'name'` in a statement by the literal of a value.
    private func filled(_ statement: String) -> String {
        values.reduce(statement) { text, value in
            text.replacing(":'\(value.key)'", with: "'\(value.value.text ?? "")'")
        }
    }

    /// Waits until the client shows this value.
    private mutating func waitUntil(_ device: String, shows expected: JSONValue) async throws {
        var process = try process(of: device)
        var shown = JSONValue.null
        do {
            try await eventually("\(device) to show \(expected.json)") {
                shown = try await process.request("state")
                return shown.contains(expected)
            }
        } catch let error as TimeoutError {
            throw ScenarioError("\(error); it shows \(shown.json)")
        }
        devices[device]?.process = process
    }

    /// Waits until the client shows exactly what the database has for its user.
    private mutating func waitUntilEqual(_ device: String) async throws {
        var process = try process(of: device)
        try await process.waitUntilEqual(to: database)
        devices[device]?.process = process
    }
}

/// A fault of a scenario, or an expectation that does not hold.
struct ScenarioError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
