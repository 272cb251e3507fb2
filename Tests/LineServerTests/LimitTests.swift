@testable import ChangeFeed
@testable import Messaging
import NIOCore
import Synchronization
import Testing
import WireProtocol

@testable import LineServer

@Suite("Limits per client", .timeLimit(.minutes(10)))
struct LimitTests {
    func goodbye(_ code: GoodbyeCode, _ lines: [String]) -> Bool {
        lines.last?.contains(#""method":"server.goodbye","params":{"code":"\#(code.rawValue)","message":""#) == true
            && lines.last?.contains(#""reconnect":\#(code.reconnect)"#) == true
    }

    static let tooLong =
        #"{"jsonrpc":"2.0","id":null,"error":{"code":413,"message":"A line has at most 65536 bytes; this one was discarded.","#
        + #""data":{"code":"line_too_long","retryable":false}}}"#

    @Test("accepts a line at the limit, and answers line_too_long over it")
    func lineLength() async throws {
        try await withServer { server in
            let client = try await server.connect()
            let shortest = request(1, "echo", #"{"a":""}"#).utf8.count
            let text = String(repeating: "x", count: 65_536 - shortest)
            let line = request(1, "echo", #"{"a":"\#(text)"}"#)
            #expect(try await client.call(line) == answer(1, #"{"a":"\#(text)"}"#))
            #expect(try await client.call(line + "\r") == answer(1, #"{"a":"\#(text)"}"#))
            #expect(try await client.call(line + " ") == Self.tooLong)
            #expect(try await client.call(String(repeating: "x", count: 1 << 20)) == Self.tooLong)
            #expect(try await client.call(request(2)) == answer(2))
        }
    }

    @Test(
        "row 1: answers 10,000 oversized lines in order, with flat memory"
    )
    func manyLongLines() async throws {
        try await withServer { server in
            let client = try await server.connect()
            let long = ByteBuffer(string: String(repeating: "x", count: 70_000) + "\n")
            let before = residentBytes()
            try await withThrowingTaskGroup { group in
                group.addTask {
                    for number in 0..<10_000 {
                        try await client.send(long)
                        if number % 1_000 == 999 { try await client.send(request(number) + "\n") }
                    }
                }
                for number in 0..<10_000 {
                    let line = try await client.line()
                    if line != Self.tooLong { Issue.record("\(line ?? "end")") }
                    if number % 1_000 == 999 { #expect(try await client.line() == answer(number)) }
                }
                try await group.waitForAll()
            }
            // 700 MB were transferred; other suites use the same process meanwhile.
            if let before, let after = residentBytes() { #expect(after - before < 256 << 20) }
        }
    }

    @Test("row 2: closes after 1 MiB without a line end, with the reason")
    func endless() async throws {
        try await withServer { server in
            let client = try await server.connect()
            try await client.send(request(1) + "\n")
            client.post(ByteBuffer(repeating: UInt8(ascii: "x"), count: 2 << 20))
            let lines = try await client.rest()
            #expect(lines.count == 3)
            #expect(lines.first == answer(1))
            #expect(lines.dropFirst().first == Self.tooLong)
            #expect(self.goodbye(.lineTooLong, lines))
        }
    }

    @Test("row 3: closes a trickling client at the authentication deadline")
    func authenticationDeadline() async throws {
        try await withServer(
            .test {
                $0.authenticationTimeout = .seconds(1)
                $0.pingInterval = .milliseconds(10)
                $0.lingerTimeout = .seconds(20)
            }
        ) { server in
            let client = try await server.connect()
            // The server's pings are the clock for sending bytes.
            var bytes = 0
            var line = try await client.line()
            while line == #"{"jsonrpc":"2.0","method":"server.ping","params":{}}"# {
                try? await client.send("x")
                bytes += 1
                line = try await client.line()
            }
            #expect(bytes > 0)
            #expect(self.goodbye(.authenticationTimeout, [line ?? ""]))
            #expect(try await client.line() == nil)
            try await server.sessions.next().closed.value()
        }
    }

    @Test("a session replaces the deadline by its expiry or none")
    func expiry() async throws {
        try await withServer(.test { $0.lingerTimeout = .milliseconds(100) }) { request, session in
            session.sink.setExpiry(
                Expiry(seconds: 0.05, goodbye: Goodbye(.tokenExpired, "The token is past its time.")))
            if request.method == "stay" { session.sink.setExpiry(nil) }
            return .result(.null)
        } test: { server in
            let staying = try await server.connect()
            #expect(try await staying.call(request(1, "stay")) == answer(1, "null"))
            let leaving = try await server.connect()
            #expect(try await leaving.call(request(1, "leave")) == answer(1, "null"))
            #expect(self.goodbye(.tokenExpired, try await leaving.rest()))
            #expect(try await staying.call(request(2, "stay")) == answer(2, "null"))
        }
    }

    @Test("row 14: pauses reading from a client that does not read responses")
    func notReading() async throws {
        let text = String(repeating: "x", count: 60_000)
        let count = 2_000
        try await withServer(.test()) { _, _ in
            .result(.string(text))
        } test: { server in
            let client = try await TestClient(server.address, receiveBufferBytes: 65_536)
            let session = try await server.sessions.next()
            client.post(ByteBuffer(string: (0..<count).map { request($0) + "\n" }.joined()))
            // Another client is served meanwhile, which gives the first one's requests enough time.
            let other = try await server.connect()
            var done = -1
            while session.requests.count != done {
                done = session.requests.count
                for id in 0..<50 { #expect(try await other.call(request(id)) == answer(id, "\"\(text)\"")) }
            }
            // About as many are answered as the kernel buffers: 120 MB were requested.
            #expect(done < 400)
            _ = try await client.line()
            for id in 0..<count { #expect(try await client.line() == answer(id, "\"\(text)\"")) }
            #expect(session.requests.count == count)
        }
    }

    @Test("leaves requests over the limit in the kernel, without loss")
    func inFlight() async throws {
        let gate = AsyncPromise<Void>()
        let begun = AsyncPromise<Void>()
        try await withServer(.test { $0.maxInFlight = 4 }) { request, _ in
            begun.succeed(())
            try? await gate.value()
            return .result(.string(request.method))
        } test: { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            let padding = String(repeating: " ", count: 1_000)
            client.post(ByteBuffer(string: (0..<5_000).map { request($0) + padding + "\n" }.joined()))
            try await begun.value()
            let other = try await server.connect()
            #expect(session.requests.count == 1)
            gate.succeed(())
            #expect(try await other.call(request(1)) == answer(1, #""echo""#))
            for id in 0..<5_000 { #expect(try await client.line() == answer(id, #""echo""#)) }
        }
    }
}
