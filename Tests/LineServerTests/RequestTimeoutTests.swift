import Messaging
import Metering
import NIOCore
import Testing

@testable import LineServer

@Suite("Request timeout", .timeLimit(.minutes(10)))
struct RequestTimeoutTests {
    let gate = AsyncPromise<Void>()
    let isCancelled = AsyncPromise<Bool>()

    /// `hang` ends when the gate opens, whether it is cancelled or not; so does what follows the answer to `follow`.
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

    /// Long enough for a busy machine to see that a client has left.
    let patient = LineServer.Configuration.test { $0.requestTimeout = .seconds(10) }

    func isInternalError(_ line: some StringProtocol, id: Int) -> Bool {
        line.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32603,"#)
            && line.contains(#""code":"internal_error","retryable":false,"incident":""#)
    }

    @Test("it is answered internal_error, with an incident, and what it answers later goes nowhere")
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

    @Test("of a batch the rest is answered so, in the same line, and is not done")
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

    @Test("what follows an answer and does not end is given up too")
    func hook() async throws {
        try await withServer(self.impatient, self.hanging) { server in
            let client = try await server.connect()
            try await client.send(request(1, "follow") + "\n" + request(2) + "\n")
            #expect(try await client.line() == answer(1))
            #expect(try await client.line() == answer(2))
            self.gate.succeed(())
        }
    }

    @Test("a client that leaves meanwhile ends its session no later")
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

    @Test("a batch that waits for its client to read is not given up")
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
            // The other's pings are the clock.
            for _ in 0..<6 { #expect(try await other.line()?.contains("server.ping") == true) }
            var line = try await client.line()
            while let ahead = line, !ahead.hasPrefix("[") { line = try await client.line() }
            #expect(line == "[" + (0..<30).map { answer($0, "\"\(text)\"") }.joined(separator: ",") + "]")
        }
    }
}
