import Messaging
import Metering
import NIOCore
import Testing
@testable import WireProtocol

@testable import LineServer

@Suite("Request timeout", .timeLimit(.minutes(10)))
struct RequestTimeoutTests {
    let gate = AsyncPromise<Void>()
    let isCancelled = AsyncPromise<Bool>()

    /// A session whose `hang`, and the work after `follow`, end when the gate opens, even if cancelled.
    var hanging: StubSession.Body {
        { [gate, isCancelled] request, _ in
            if request.method == "follow" {
                return Answer(.result(ByteBuffer(string: "{}"))) { try? await gate.value() }
            }
            if request.method == "hang" {
                try? await gate.value()
                isCancelled.succeed(Task.isCancelled)
            }
            return .result(.object([:]))
        }
    }

    let impatient = LineServer.Configuration.test { $0.requestTimeout = .seconds(2) }

    /// Long enough for a busy machine to notice that a client has left.
    let patient = LineServer.Configuration.test { $0.requestTimeout = .seconds(10) }

    func isInternalError(_ line: some StringProtocol, id: Int) -> Bool {
        line.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32603,"#)
            && line.contains(#""code":"internal_error","retryable":false,"incident":""#)
    }

    @Test("answers internal_error, and drops late results")
    func single() async throws {
        try await withServer(self.impatient, self.hanging) { server in
            let client = try await server.connect()
            try await client.send(request(1, "hang") + "\n" + request(2) + "\n")
            #expect(self.isInternalError(try await client.line() ?? "", id: 1))
            #expect(try await client.line() == answer(2))
            self.gate.succeed(())
            #expect(try await self.isCancelled.value())
            #expect(try await client.call(request(3)) == answer(3))
            #expect(server.metrics.text.contains("postline_request_timeouts_total 1\n"))
        }
    }

    @Test("answers the rest of a batch on the same line, without running it")
    func batch() async throws {
        try await withServer(self.impatient, self.hanging) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            let note = #"{"jsonrpc":"2.0","method":"note"}"#
            let requests = [note, request(1), request(2, "hang"), note, request(3, "never")]
            try await client.send("[\(requests.joined(separator: ","))]\n" + request(4) + "\n")
            guard case .array(let answers) = try JSON(parsing: try await client.line() ?? "") else {
                Issue.record("no array")
                return
            }
            #expect(answers.count == 3)
            #expect(answers.first?.text == answer(1))
            for (place, answer) in answers.enumerated().dropFirst() {
                #expect(self.isInternalError(answer.text, id: place + 1))
            }
            #expect(try await client.line() == answer(4))
            self.gate.succeed(())
            #expect(try await self.isCancelled.value())
            #expect(try await client.call(request(5)) == answer(5))
            #expect(session.requests == ["note", "echo", "hang", "echo", "echo"])
        }
    }

    @Test("also ends work that follows a response")
    func hook() async throws {
        try await withServer(self.impatient, self.hanging) { server in
            let client = try await server.connect()
            try await client.send(request(1, "follow") + "\n" + request(2) + "\n")
            #expect(try await client.line() == answer(1))
            #expect(try await client.line() == answer(2))
            self.gate.succeed(())
        }
    }

    @Test("a client that leaves ends its session on time")
    func leaving() async throws {
        try await withServer(self.patient, self.hanging) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            try await client.send(request(1, "hang") + "\n" + request(2) + "\n")
            try await client.reset()
            try await session.closed.value()
            #expect(session.requests.count <= 1)
            self.gate.succeed(())
        }
    }

    @Test("does not end a batch that waits for its client to read")
    func waiting() async throws {
        let text = String(repeating: "x", count: 1 << 20)
        try await withServer(
            .test {
                $0.requestTimeout = .seconds(1)
                $0.pingInterval = .milliseconds(500)
            }
        ) { _, _ in
            .result(.string(text))
        } test: { server in
            let client = try await TestClient(server.address, receiveBufferBytes: 65_536)
            let requests = (0..<30).map { request($0) }.joined(separator: ",")
            client.post(ByteBuffer(string: "[\(requests)]\n"))
            let other = try await server.connect()
            // The other client's pings are the clock.
            for _ in 0..<6 { #expect(try await other.line()?.contains("server.ping") == true) }
            var line = try await client.line()
            while let ahead = line, !ahead.hasPrefix("[") { line = try await client.line() }
            #expect(line == "[" + (0..<30).map { answer($0, "\"\(text)\"") }.joined(separator: ",") + "]")
        }
    }
}
