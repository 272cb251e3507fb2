import BoundedWait
import Foundation
import Postline
import TestSupport

/// A client program of the conformance tests (`Tests/Conformance/README.md`) in a process of its own.
struct ClientProcess {
    /// A client library.
    enum Library: String, CaseIterable, Sendable {
        case swift, javascript
    }

    /// The use of a folder by several Swift programs at the same time. An extension starts in the background.
    enum Mode: String {
        case shared, `extension`
    }

    /// An error of the client.
    struct Failure: Error, CustomStringConvertible {
        let code: String
        let description: String
    }

    let library: Library
    let folder: String

    /// The ids of all messages that this and earlier processes with the folder have queued.
    private(set) var sentIDs: [String] = []

    /// The ports that the program connects to.
    private let ports: (line: Int, http: Int)
    private let mode: Mode?
    private let command: Command
    private var lastID = 0

    /// The number of requests whose responses were read.
    private var readCount = 0

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - folder: The program's folder, or nil for an empty one.
    ///   - mode: The use of the folder by several programs, or nil for one program.
    ///   - fileBytes: The size at which writes to a file fail, as on a full disk.
    init(
        _ library: Library, folder: String? = nil, linePort: Int, httpPort: Int, mode: Mode? = nil,
        fileBytes: Int? = nil
    ) throws {
        self.library = library
        self.folder =
            folder
            ?? FileManager.default.temporaryDirectory.appending(path: "postline-app-\(UUID().uuidString)").path
        ports = (linePort, httpPort)
        self.mode = mode
        let arguments = [self.folder, "\(linePort)", "\(httpPort)"] + (mode.map { [$0.rawValue] } ?? [])
        switch library {
        case .swift:
            command = try Command(arguments, of: try Command.executable("client-program").path, fileBytes: fileBytes)
        case .javascript:
            let script = Repository.url("clients/javascript/tests/support/client-program.js").path
            command = try Command(["node", script] + arguments, of: "/usr/bin/env", fileBytes: fileBytes)
        }
    }

    /// Sends a request and returns the result.
    ///
    /// - Throws: ``Failure`` or `TimeoutError`.
    @discardableResult
    mutating func request(_ action: String, _ params: [String: JSONValue] = [:]) async throws -> JSONValue {
        try send(action, params)
        return try await lastResult()
    }

    /// Sends a request and does not wait for its response.
    mutating func send(_ action: String, _ params: [String: JSONValue] = [:]) throws {
        lastID += 1
        let request = params.merging(["id": .integer(lastID), "do": .string(action)]) { $1 }
        try command.type(String(decoding: try JSONEncoder().encode(request), as: UTF8.self))
    }

    /// Waits for the responses to all requests, and returns the result of the last one.
    ///
    /// - Throws: ``Failure`` if the last one failed, or `TimeoutError`.
    private mutating func lastResult() async throws -> JSONValue {
        let id = lastID
        let output = try await within("the response to request \(id) of \(library)") { [command] in
            var output = command.output
            while output.count(where: { $0 == "\n" }) < id {
                try await command.waitForOutput("\n", from: output.count)
                output = command.output
            }
            return output
        }
        let lines = output.split(separator: "\n").prefix(id)
        try noteSentIDs(in: lines)
        let response = try JSONDecoder().decode(JSONValue.self, from: Data((lines.last ?? "").utf8))
        if let error = response["error"] {
            throw Failure(code: error["code"]?.text ?? "", description: "\(library): \(error.json)")
        }
        return response["result"] ?? .null
    }

    /// The standard error of the program.
    var errors: String { command.errors }

    /// Kills the program, and waits for its end.
    mutating func kill() async throws {
        command.signal(SIGKILL)
        _ = try await command.exit()
        // A message counts as queued if the program said so.
        // The last line may be torn.
        let output = command.output
        let end = output.lastIndex(of: "\n") ?? output.startIndex
        try noteSentIDs(in: output[..<end].split(separator: "\n")[...])
    }

    /// Adds the ids of the messages that responses after the last read one report as queued.
    private mutating func noteSentIDs(in lines: ArraySlice<Substring>) throws {
        for line in lines.dropFirst(readCount) {
            let response = try JSONDecoder().decode(JSONValue.self, from: Data(line.utf8))
            if let id = response["result"]?["client_id"]?.text { sentIDs.append(id) }
        }
        readCount = lines.count
    }

    /// Starts the program again with its folder.
    mutating func relaunch() throws {
        let before = sentIDs
        self = try ClientProcess(library, folder: folder, linePort: ports.line, httpPort: ports.http, mode: mode)
        sentIDs = before
    }

    /// Kills the program and removes its folder.
    func end() {
        command.signal(SIGKILL)
        try? FileManager.default.removeItem(atPath: folder)
    }
}

extension JSONValue {
    /// The value as JSON, for messages.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "?"
    }

    /// The string, or nil for another value.
    var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// Returns a member of an object, or nil.
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// Returns true if this value is equal to the other, or has all of its members and elements.
    func contains(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let members), .object(let others)):
            others.allSatisfy { name, value in members[name]?.contains(value) == true }
        case (.array(let elements), .array(let others)):
            elements.count == others.count && zip(elements, others).allSatisfy { $0.contains($1) }
        default: self == other
        }
    }
}
