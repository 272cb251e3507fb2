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
            let requests = try await Self.requests(of: client)
            var lines = FuzzedLines(
                seed: seed,
                methods: requests.map { .init($0.method, $0.params.members.map { ($0.name, $0.value.text) }) })
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

    @Test("knows valid values of every parameter of every method")
    func values() async throws {
        for method in SampleParameters.methods {
            let variants = try #require(
                SampleParameters.variants(of: method), "\(method.method) has a parameter without a sample value")
            for params in variants {
                #expect(throws: Never.self, "\(method.method) \(params)") {
                    try Params(params, of: method).check()
                }
            }
            #expect(Set(variants.flatMap { $0.members.map(\.name) }) == Set(method.parameters.names))
        }
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            for (method, params) in try await Self.requests(of: client)
            where ["conversations", "messages", "sync"].contains(method.prefix { $0 != "." }) {
                do {
                    try await client.call(method, params)
                } catch let error as RemoteError {
                    // A message may be another user's, or be deleted by then.
                    #expect(error.code != "invalid_params", "\(method) \(params): \(error.message)")
                }
            }
        }
    }

    /// Returns requests of every method with valid parameters, except those that end the session. Those of
    /// acknowledgements and messages that stream use a cursor and a message of the client.
    private static func requests(of client: TestClient) async throws -> [(method: String, params: JSONObject)] {
        let cursor = try #require(try await client.sync(live: false).last?["cursor"])
        let stream: JSONObject = [
            "conversation_id": .string(Room.aliceBob), "content": "", "is_streaming": true,
        ]
        let growing = try #require(try await client.call("messages.send", stream)["seq"])
        var requests: [(method: String, params: JSONObject)] = [("messages.send", stream)]
        for method in SampleParameters.methods
        where !["auth.logout", "auth.change_password", "me.delete"].contains(method.method) {
            for params in try #require(SampleParameters.variants(of: method)) {
                let members = params.members.map { member in
                    let value =
                        switch (method.method, member.name) {
                        case (_, "cursor"): cursor
                        case ("messages.append", "seq"), ("messages.finish", "seq"): growing
                        default: member.value
                        }
                    return JSONObject.Member(name: member.name, value: value)
                }
                requests.append((method.method, JSONObject(members)))
            }
        }
        return requests
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
