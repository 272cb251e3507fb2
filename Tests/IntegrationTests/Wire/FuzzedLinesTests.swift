import Foundation
@testable import FuzzedLines
@testable import Messaging
import LineClient
import NIOCore
import Testing
@testable import WireProtocol

@Suite("Fuzzed lines", .timeLimit(.minutes(20)))
struct FuzzedLinesTests {
    @Test("row 15: 10,000 fuzzed lines cause no internal error or growth")
    func lines() async throws {
        let seed = testSeed()
        let replay = Comment("POSTLINE_TEST_SEED=\(seed)")
        try await TestDatabase.with { database in
            // A separate process, so that a crash is visible and its memory is its own.
            let node = try await ServeProcess.start(database, ["--rate-limits", "off"])
            defer { node.command.signal(SIGKILL) }
            let client = try await node.signedIn(.alice)
            var lines = FuzzedLines(seed: seed, methods: Self.methods)
            var early = 0
            for round in 0..<100 {
                var stream = lines.stream(of: 100)
                let fence = "fence-\(round)"
                stream += Array("{\"jsonrpc\":\"2.0\",\"id\":\"\(fence)\",\"method\":\"server.info\"}\n".utf8)
                let pieces = lines.pieces()
                var place = 0
                var turn = 0
                while place < stream.count {
                    let end = min(stream.count, place + pieces[turn % pieces.count])
                    try await client.line.send(bytes: ByteBuffer(bytes: stream[place..<end]))
                    (place, turn) = (end, turn + 1)
                }
                while true {
                    let answer = try await client.nextLine()
                    if answer.contains(fence) { break }
                    #expect(!answer.contains("internal_error"), replay)
                }
                if round == 20 {
                    // malloc keeps the memory of password hashing, 19 MiB per thread. It is allocated before the
                    // measurement.
                    try await Self.hashPasswords(port: node.port)
                    early = try Self.residentBytes(of: node.command)
                }
            }
            let late = try Self.residentBytes(of: node.command)
            #expect(late - early < 32 << 20, replay)
            #expect(try await client.call("me.get")["id"]?.stringValue == Person.alice.id, replay)
            #expect(try await !node.stop().contains("incident"), replay)
        }
    }

    /// Every method with valid parameters, except those that end the session.
    private static let methods = SampleParameters.methods.filter {
        !["auth.logout", "auth.change_password", "me.delete"].contains($0.method)
    }.map { method in
        FuzzedLines.Method(
            method.method,
            method.parameters.names.map { ($0, SampleParameters.value(of: $0, in: method)?.text ?? "null") })
    }

    private static func hashPasswords(port: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { try await TestClient.connect(port: port).register("Hashed") }
            }
            try await group.waitForAll()
        }
    }

    private static func residentBytes(of command: Command) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(command.processID)/statm", encoding: .utf8)
        return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * 4_096
    }
}
