import BoundedWait
import ChangeFeed
import Messaging
import Metering
import NIOCore
import Testing
import WireProtocol

@testable import LineServer

@Suite("Batch responses", .timeLimit(.minutes(10)))
struct BatchTests {
    /// Returns a session whose request `second` waits for the gate, and whose `live` starts pushes.
    static func gated(_ gate: AsyncPromise<Void>, begun: AsyncPromise<Void>) -> StubSession.Body {
        { request, session in
            switch request.method {
            case "live":
                return Answer(.result(ByteBuffer(string: "{}"))) { session.startPushes() }
            case "second":
                begun.succeed(())
                try? await gate.value()
            default: break
            }
            return .result(.object([:]))
        }
    }

    func batch(_ requests: String...) -> String { "[" + requests.joined(separator: ",") + "]" }

    @Test("row 14: a batch waits until the client reads its responses")
    func backPressure() async throws {
        let text = String(repeating: "x", count: 200_000)
        let count = Envelope.maxBatchCount
        try await withServer(.test()) { _, _ in
            .result(.string(text))
        } test: { server in
            let client = try await TestClient(server.address, receiveBufferBytes: 65_536)
            let session = try await server.sessions.next()
            client.post(ByteBuffer(string: "[\((0..<count).map { request($0) }.joined(separator: ","))]\n"))
            let other = try await server.connect()
            var done = -1
            while session.requests.count != done {
                done = session.requests.count
                for id in 0..<50 { #expect(try await other.call(request(id)) == answer(id, "\"\(text)\"")) }
            }
            // About as many are answered as the kernel buffers.
            #expect(1..<40 ~= done)
            let waiting = try await session.onLoop { $0.state.queue.waitingBytes }
            #expect((waiting ?? .max) < 300_000)
            _ = try await client.line()
            let line = try await client.line()
            #expect(line == "[" + (0..<count).map { answer($0, "\"\(text)\"") }.joined(separator: ",") + "]")
            #expect(session.requests.count == count)
        }
    }

    @Test("pushes during a batch follow its response")
    func pushes() async throws {
        let (gate, begun) = (AsyncPromise<Void>(), AsyncPromise<Void>())
        try await withServer(.test(), Self.gated(gate, begun: begun)) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            #expect(try await client.call(request(0, "live")) == answer(0))
            try await client.send(self.batch(request(1), request(2, "second"), request(3)) + "\n")
            try await begun.value()
            let written = AsyncPromise<Void>()
            let pushes = (1...3).map { Multicast(push($0), receivers: [session.sink]) }
            session.sink.pushTarget.push(pushes) { written.succeed(()) }
            try await written.value()
            session.sink.noteCursor("c9")
            gate.succeed(())
            #expect(try await client.line() == "[\(answer(1)),\(answer(2)),\(answer(3))]")
            for number in 1...3 {
                #expect(try await client.line() == String(String(buffer: push(number).line).dropLast()))
            }
            let cursor = try await session.onLoop { $0.state.queue.cursor }
            #expect(cursor == .some("c9"))
        }
    }

    @Test("pushes over the limit during a batch end in one lag notice")
    func lagging() async throws {
        let (gate, begun) = (AsyncPromise<Void>(), AsyncPromise<Void>())
        try await withServer(.test { $0.maxQueueBytes = 10_000 }, Self.gated(gate, begun: begun)) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            #expect(try await client.call(request(0, "live")) == answer(0))
            try await client.send(self.batch(request(1), request(2, "second")) + "\n")
            try await begun.value()
            try await eventually("the answer's beginning to be out") {
                try await session.onLoop { $0.state.queue.unwrittenAnswerBytes } == 0
            }
            let written = AsyncPromise<Void>()
            let pushes = (1...20).map { Multicast(push($0, padding: 1_000), receivers: [session.sink]) }
            session.sink.pushTarget.push(pushes) { written.succeed(()) }
            try await written.value()
            gate.succeed(())
            #expect(try await client.line() == "[\(answer(1)),\(answer(2))]")
            #expect(
                try await client.line() == #"{"jsonrpc":"2.0","method":"sync.lagged","params":{"cursor":"c0"}}"#)
            #expect(try await client.call(request(3)) == answer(3))
        }
    }

    @Test("a goodbye ends a batch's line with the responses so far")
    func goodbye() async throws {
        for isBegun in [true, false] {
            let (gate, begun) = (AsyncPromise<Void>(), AsyncPromise<Void>())
            try await withServer(.test(), Self.gated(gate, begun: begun)) { server in
                let client = try await server.connect()
                let session = try await server.sessions.next()
                let first = isBegun ? [request(1)] : []
                let batch = (first + [request(2, "second"), request(3)]).joined(separator: ",")
                try await client.send("[\(batch)]\n")
                try await begun.value()
                session.sink.goodbye(Goodbye(.sessionRevoked, "Why."))
                let goodbye =
                    #"{"jsonrpc":"2.0","method":"server.goodbye","params":{"code":"session_revoked","message":"Why.","#
                    + #""reconnect":false}}"#
                #expect(try await client.rest() == (isBegun ? ["[\(answer(1))]"] : []) + [goodbye])
                gate.succeed(())
                try await session.closed.value()
                #expect(session.requests == (isBegun ? ["echo"] : []) + ["second"])
            }
        }
    }

    @Test("a slow reader of a batch gets the lag notice and whole lines")
    func slowGoodbye() async throws {
        let text = String(repeating: "x", count: 1 << 20)
        // The kernel drops the connection half as long again after that, with all buffered data. The client reads until
        // then.
        try await withServer(.test { $0.slowConsumerTimeout = .seconds(10) }) { _, _ in
            .result(.string(text))
        } test: { server in
            let client = try await TestClient(server.address, receiveBufferBytes: 65_536)
            let session = try await server.sessions.next()
            let requests = (0..<50).map { request($0) }.joined(separator: ",")
            client.post(ByteBuffer(string: "[\(requests)]\n"))
            let other = try await server.connect()
            while !server.metrics.text.contains(#"postline_connections_closed_total{reason="slow_consumer"} 1"#) {
                _ = try await other.call(#"{"jsonrpc":"2.0","id":1}"#)
            }
            let lines = try await client.rest()
            try #require(lines.count == 3)
            guard case .array(let answers) = try JSON(parsing: lines[1]) else {
                Issue.record("\(lines[1].prefix(100))")
                return
            }
            #expect(1..<50 ~= answers.count)
            #expect(lines[2].contains(#""code":"slow_consumer""#))
            try await session.closed.value()
        }
    }

    @Test("a batch of notifications gets no response")
    func notifications() async throws {
        try await withServer { server in
            let client = try await server.connect()
            let note = #"{"jsonrpc":"2.0","method":"note"}"#
            try await client.send(self.batch(note, note) + "\n" + self.batch(note, request(1), note) + "\n")
            #expect(try await client.line() == "[\(answer(1))]")
            #expect(try await client.call(request(2)) == answer(2))
            #expect(try await server.sessions.next().requests == ["note", "note", "note", "echo", "note", "echo"])
        }
    }

    @Test("no ping is within a batch's response")
    func pings() async throws {
        let (gate, begun) = (AsyncPromise<Void>(), AsyncPromise<Void>())
        try await withServer(.test { $0.pingInterval = .milliseconds(20) }, Self.gated(gate, begun: begun)) { server in
            let client = try await server.connect()
            let other = try await server.connect()
            try await client.send(self.batch(request(1), request(2, "second")) + "\n")
            try await begun.value()
            // The other client's pings are the clock.
            for _ in 0..<5 { #expect(try await other.line()?.contains("server.ping") == true) }
            gate.succeed(())
            var line = try await client.line()
            while line?.contains("server.ping") == true { line = try await client.line() }
            #expect(line == "[\(answer(1)),\(answer(2))]")
        }
    }
}
