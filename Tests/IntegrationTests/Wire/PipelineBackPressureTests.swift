import Foundation
import LineClient
import NIOCore
import Testing
import WireProtocol

/// Nodes are separate processes, so that their memory can be measured.
@Suite("Pipelining and back-pressure", .serialized, .timeLimit(.minutes(20)))
struct PipelineBackPressureTests {
    /// Writes messages of 48 kB in JSON. A few responses of five fill the kernel's buffers.
    private static func writeLongMessages(_ database: TestDatabase) async throws {
        try await database.psql(
            """
            insert into public.messages (conversation_id, sender_id, content)
            select '\(Room.aliceBob)', '\(Person.bob.id)', repeat(chr(1), 8000) from generate_series(1, 5)
            """)
    }

    /// Returns at least 64 KiB of lines of about that size, each of which requests five messages.
    private static func lines(of bytes: Int) -> ByteBuffer {
        var line =
            #"{"jsonrpc":"2.0","id":1,"method":"messages.list","params":{"conversation_id":"\#(Room.aliceBob)","limit":5}}"#
        line += String(repeating: " ", count: max(0, bytes - line.utf8.count)) + "\n"
        return ByteBuffer(string: String(repeating: line, count: 65_536 / line.utf8.count + 1))
    }

    @Test(
        "row 54: a pipelining client costs under 1 MiB, plain and over TLS",
        arguments: [false, true])
    func notReading(overTLS: Bool) async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue()
            let trust = overTLS ? try certificates.trust : nil
            let settings = overTLS ? certificates.environment : [:]
            try await Self.withNode(settings) { node, database in
                try await Self.writeLongMessages(database)
                let other = try await TestClient.connect(port: node.port, trust: trust)
                try await other.signIn(.bob)
                for _ in 0..<100 {
                    try await other.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 5])
                }
                for bytes in [100, 4_000, 60_000] {
                    let lines = Self.lines(of: bytes)
                    var clients: [TestClient] = []
                    for _ in 0..<6 {
                        let client = try await TestClient.connect(port: node.port, trust: trust)
                        try await client.signIn(.alice)
                        try await client.line.setReading(false)
                        clients.append(client)
                    }
                    let before = try await Self.residentBytes(of: node)
                    try await withThrowingTaskGroup { [clients] group in
                        for client in clients {
                            group.addTask {
                                var sent = 0
                                while sent < 2 << 20, (try? await client.line.send(bytes: lines)) != nil {
                                    sent += lines.readableBytes
                                }
                            }
                        }
                        try await Self.untilStill(node, "messages.list", other)
                        let after = try await Self.residentBytes(of: node)
                        #expect(after - before < clients.count << 20, "\(bytes)")
                        // Over TLS each waits for room to write.
                        for client in clients { group.addTask { await client.close() } }
                        try await group.waitForAll()
                    }
                    try await Self.untilStill(node, "messages.list", other)
                    let later = try await Self.residentBytes(of: node)
                    #expect(later - before < clients.count << 20, "\(bytes)")
                }
            }
        }
    }

    @Test("row 14: a 12 MB batch response costs a few MB")
    func batch() async throws {
        try await Self.withNode { node, database in
            try await Self.writeLongMessages(database)
            let other = try await node.signedIn(.bob)
            let client = try await node.signedIn(.alice)
            let ask =
                #"{"jsonrpc":"2.0","id":"x","method":"messages.list","params":{"conversation_id":"\#(Room.aliceBob)","limit":5}}"#
            #expect(try await client.exchange(ask).utf8.count > 240_000)
            let before = try await Self.residentBytes(of: node)
            try await client.line.setReading(false)
            try await client.line.send(line: "[" + [String](repeating: ask, count: 50).joined(separator: ",") + "]")
            try await Self.untilStill(node, "messages.list", other)
            #expect(try await Self.residentBytes(of: node) - before < 6 << 20)
            try await client.line.setReading(true)
            let answers = try JSON(parsing: ByteBuffer(string: try await client.nextLine())).arrayValue ?? []
            #expect(answers.count == 50)
            for answer in answers { #expect(answer["result"]?["messages"]?.arrayValue?.count == 5) }
            #expect(try await Self.residentBytes(of: node) - before < 6 << 20)
        }
    }

    @Test("a response over 4 MiB is an internal error with an incident")
    func largeAnswer() async throws {
        try await Self.withNode { node, database in
            // As stored before its size was limited.
            try await database.psql(
                """
                set session_replication_role = replica;
                update public.user_private set preferences = jsonb_build_object('x', repeat('x', 4500000))
                where id = '\(Person.alice.id)'
                """)
            let client = try await node.signedIn(.alice)
            let refused = try await client.refused(.internalError, "me.get")
            #expect(refused?.data["incident"] != nil)
            // The response may come before the log line.
            try await node.command.waitForErrors("answer of 450")
            let batch = try await client.exchange(
                #"[{"jsonrpc":"2.0","id":"a","method":"me.get"},{"jsonrpc":"2.0","id":"b","method":"avatars.list"}]"#)
            let answers = try JSON(parsing: ByteBuffer(string: batch)).arrayValue ?? []
            #expect(answers.map { $0["error"] == nil } == [false, true])
            try await client.call("profiles.get", ["ids": [.string(Person.bob.id)]])
        }
    }

    private static func withNode(
        _ environment: [String: String] = [:],
        _ body: @Sendable (ServeProcess, TestDatabase) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            let patient = environment.merging(["POSTLINE_SLOW_CONSUMER_SECONDS": "600"]) { $1 }
            let node = try await ServeProcess.start(database, environment: patient)
            defer { node.command.signal(SIGKILL) }
            try await body(node, database)
        }
    }

    /// Waits until no more such requests are executed, while another client's are.
    private static func untilStill(_ node: ServeProcess, _ method: String, _ other: TestClient) async throws {
        var done = -1.0
        let series = #"postline_request_duration_seconds_count{code="ok",method="\#(method)"}"#
        while case let now = try await node.metrics()[series] ?? 0, now != done {
            done = now
            for _ in 0..<100 { try await other.call("me.get") }
        }
    }

    private static func residentBytes(of node: ServeProcess) async throws -> Int {
        Int(try #require(try await node.metrics()["process_resident_memory_bytes"]))
    }
}
