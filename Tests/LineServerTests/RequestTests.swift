import Logging
import Messaging
import NIOCore
import Testing
import WireProtocol

@testable import LineServer

@Suite("Request handling", .timeLimit(.minutes(10)))
struct RequestTests {
    @Test("the hello comes first, with the limits")
    func hello() async throws {
        try await withServer(.test { $0.pingInterval = .seconds(30) }) { server in
            let client = try await TestClient(server.address)
            #expect(
                try await client.line()
                    == #"{"jsonrpc":"2.0","method":"server.hello","params":{"server":"postline","version":"1.2.3","protocol":1,"#
                    + #""max_line_bytes":65536,"max_in_flight":64,"ping_seconds":30,"#
                    + #""features":["presence","typing","mute","replies","mentions","pins","data","settings","reactions","#
                    + #""delivered","scheduled","attachments","streaming","blocks","search","reports","#
                    + #""retention"],"contact":null}}"#
            )
            #expect(try await server.sessions.next().peerAddress == "127.0.0.1")
        }
    }

    @Test("a request is answered with its id")
    func echoes() async throws {
        try await withServer { server in
            let client = try await server.connect()
            #expect(
                try await client.call(request(1, "echo", #"{"a":[1,2.50,"é"]}"#)) == answer(1, #"{"a":[1,2.50,"é"]}"#))
            #expect(
                try await client.call(#"{"method":"m","id":"x","jsonrpc":"2.0"}"# + "\r")
                    == #"{"jsonrpc":"2.0","id":"x","result":{}}"#)
        }
    }

    @Test("row 9: a thousand requests in one segment run in order")
    func pipelining() async throws {
        try await withServer { server in
            let client = try await server.connect()
            client.post(ByteBuffer(string: (0..<1_000).map { request($0, "m\($0)") + "\n" }.joined()))
            for id in 0..<1_000 { #expect(try await client.line() == answer(id)) }
            #expect(try await server.sessions.next().requests == (0..<1_000).map { "m\($0)" })
        }
    }

    @Test("the next request waits for the response to the last")
    func strictOrder() async throws {
        let gate = AsyncPromise<Void>()
        let begun = AsyncPromise<Void>()
        try await withServer(.test()) { request, _ in
            if request.method == "slow" {
                begun.succeed(())
                try? await gate.value()
            }
            return .result(.string(request.method))
        } test: { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            try await client.send(
                [request(1, "slow"), request(2, "quick"), request(3, "quick")].joined(separator: "\n") + "\n")
            try await begun.value()
            let other = try await server.connect()
            #expect(try await other.call(request(1, "other")) == answer(1, #""other""#))
            #expect(session.requests == ["slow"])
            gate.succeed(())
            #expect(try await client.line() == answer(1, #""slow""#))
            #expect(try await client.line() == answer(2, #""quick""#))
            #expect(try await client.line() == answer(3, #""quick""#))
        }
    }

    @Test("row 9: a request split at every byte border is the same request")
    func splits() async throws {
        try await withServer { server in
            let client = try await server.connect()
            let line = Array((request(7, "echo", #"{"a":"é€😀"}"#) + "\r\n").utf8)
            for split in 0...line.count {
                try await client.send(ByteBuffer(bytes: line[..<split]))
                try await client.send(ByteBuffer(bytes: line[split...]))
                #expect(try await client.line() == answer(7, #"{"a":"é€😀"}"#))
            }
            for byte in line { try await client.send(ByteBuffer(bytes: [byte])) }
            #expect(try await client.line() == answer(7, #"{"a":"é€😀"}"#))
        }
    }

    @Test("skips empty lines")
    func emptyLines() async throws {
        try await withServer { server in
            let client = try await server.connect()
            #expect(try await client.call("\n\r\n\n" + request(1)) == answer(1))
        }
    }

    @Test("runs notifications without a response, even on errors")
    func notifications() async throws {
        try await withServer(.test()) { request, _ in
            request.method == "fail" ? Answer(.failure(ProtocolError(.forbidden, "No."))) : .result(.null)
        } test: { server in
            let client = try await server.connect()
            try await client.send(
                #"{"jsonrpc":"2.0","method":"a"}"# + "\n" + #"{"jsonrpc":"2.0","method":"fail"}"# + "\n"
                    + #"{"jsonrpc":"2.0","method":"c","params":[1]}"# + "\n")
            #expect(try await client.call(request(1, "d")) == answer(1, "null"))
            #expect(try await server.sessions.next().requests == ["a", "fail", "d"])
        }
    }

    @Test("answers a batch in order on one line, except notifications")
    func batches() async throws {
        try await withServer { server in
            let client = try await server.connect()
            let notification = #"{"jsonrpc":"2.0","method":"n"}"#
            try await client.send("[\(notification),\(notification)]\n")
            #expect(
                try await client.call("[\(request(1, "a")),\(notification),7,\(request(2, "b"))]")
                    == "[\(answer(1)),"
                    + #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"A request is a JSON object.","#
                    + #""data":{"code":"invalid_request","retryable":false}}},\#(answer(2))]"#)
            let many = (0..<51).map { request($0) }.joined(separator: ",")
            #expect(try await client.call("[\(many)]")?.contains(#""id":null,"error":{"code":-32600"#) == true)
            #expect(try await client.call("[]")?.contains(#""id":null,"error":{"code":-32600"#) == true)
            #expect(try await server.sessions.next().requests == ["n", "n", "a", "n", "b"])
        }
    }

    @Test("rejects invalid requests, and keeps the connection")
    func refusals() async throws {
        try await withServer { server in
            let client = try await server.connect()
            func code(_ line: ByteBuffer) async throws -> String? {
                try await client.send(line)
                try await client.send("\n")
                guard let answer = try await client.line(), case .object(let object) = try JSON(parsing: answer) else {
                    return nil
                }
                #expect(object["id"] == .null)
                guard case .object(let error)? = object["error"], case .object(let data)? = error["data"] else {
                    return nil
                }
                guard case .string(let code)? = data["code"] else { return nil }
                return code
            }
            #expect(try await code(ByteBuffer(string: "hello")) == "parse_error")
            #expect(try await code(ByteBuffer(bytes: [0x22, 0xC3, 0x28, 0x22])) == "invalid_utf8")
            #expect(try await code(ByteBuffer(bytes: [0xFF])) == "invalid_utf8")
            #expect(
                try await code(ByteBuffer(bytes: Array(#"{"jsonrpc":"2.0","method":"a"#.utf8) + [0])) == "parse_error")
            #expect(try await code(ByteBuffer(string: String(repeating: "[", count: 65_536))) == "parse_error")
            #expect(
                try await code(ByteBuffer(string: #"{"jsonrpc":"2.0","method":"m","id":1e,"params":{}}"#))
                    == "parse_error")
            #expect(try await code(ByteBuffer(string: #"{"jsonrpc":"2.0","method":"\udead","id":1}"#)) == "parse_error")
            #expect(
                try await code(ByteBuffer(string: #"{"jsonrpc":"2.0","method":"m","id":1.5}"#)) == "invalid_request")
            #expect(try await code(ByteBuffer(string: "7")) == "invalid_request")
            #expect(try await client.call(request(1)) == answer(1))
            #expect(try await server.sessions.next().requests == ["echo"])
        }
    }

    @Test("an HTTP request gets one hint at the right port")
    func http() async throws {
        try await withServer { server in
            let client = try await server.connect()
            for end in ["\r\n", "\n"] {
                try await client.send(
                    "GET /healthz HTTP/1.1\(end)Host: localhost\(end)User-Agent: curl/8.5.0\(end)Accept: */*\(end)\(end)"
                )
                let hint = try #require(try await client.line())
                #expect(hint.contains("parse_error") && hint.contains("This is HTTP"), "\(hint)")
                #expect(hint.contains("POSTLINE_HTTP_PORT"), "\(hint)")
                #expect(try await client.call(request(1)) == answer(1))
            }
        }
    }

    @Test("row 6: rejects nesting 100,000 deep within the line limit")
    func depth() async throws {
        try await withServer(.test { $0.maxLineBytes = 1 << 20 }) { server in
            let client = try await server.connect()
            let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
            #expect(try await client.call(deep)?.contains("parse_error") == true)
            #expect(try await client.call(request(1)) == answer(1))
        }
    }

    @Test("answers requests sent before a half-close, then closes")
    func halfClose() async throws {
        try await withServer { server in
            let client = try await server.connect()
            try await client.send((0..<200).map { request($0) + "\n" }.joined() + request(999))
            try await client.end()
            #expect(try await client.rest() == (0..<200).map { answer($0) })
            try await server.sessions.next().closed.value()
        }
    }

    @Test("refuses requests over the limits of a client that closes its side, at once and unparsed")
    func halfCloseOverLimits() async throws {
        try await withServer(exceedLimits: true) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            try await client.send(request(1) + "\n" + request(2) + "\n")
            try await session.waits.value()
            try await client.end()
            let lines = try await client.rest()
            #expect(lines.count == 2 && lines.allSatisfy { $0.contains(#""id":null,"error""#) }, "\(lines)")
            try await session.closed.value()
            #expect(session.requests.isEmpty)
            // Without a half-close, the end of the connection ends the wait.
            let other = try await server.connect()
            let otherSession = try await server.sessions.next()
            try await other.send(request(1) + "\n")
            try await otherSession.waits.value()
            try await other.reset()
            try await otherSession.closed.value()
        }
    }

    @Test("responses arrive after a half-close, however large")
    func halfCloseWithLargeAnswers() async throws {
        let text = String(repeating: "x", count: 100_000)
        try await withServer(.test()) { _, _ in
            .result(.string(text))
        } test: { server in
            let client = try await server.connect()
            try await client.send((0..<200).map { request($0) + "\n" }.joined())
            try await client.end()
            #expect(try await client.rest() == (0..<200).map { answer($0, "\"\(text)\"") })
        }
    }

    @Test("a connection that breaks mid-request ends only its session")
    func isolation() async throws {
        let begun = AsyncPromise<Void>()
        let gate = AsyncPromise<Void>()
        try await withServer(.test()) { request, _ in
            if request.method == "slow" {
                begun.succeed(())
                try? await gate.value()
            }
            return .result(.null)
        } test: { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            let other = try await server.connect()
            try await client.send(request(1, "slow") + "\n" + request(2) + "\n")
            try await begun.value()
            try await client.reset()
            #expect(try await other.call(request(1)) == answer(1, "null"))
            gate.succeed(())
            try await session.closed.value()
            #expect(try await other.call(request(2)) == answer(2, "null"))
        }
    }

    @Test("names a port in use in its error")
    func portInUse() async throws {
        try await withServer { server in
            let second = LineServer(
                configuration: .test { $0.port = server.address.port }, sessions: StubSessions(echo),
                logger: Logger(label: "test"))
            await #expect {
                try await second.run()
            } throws: { error in
                "\(error)" == "Cannot listen on 127.0.0.1, port \(server.address.port): the port is in use."
            }
            await #expect(throws: ListenError.self) { try await second.address }
        }
    }
}
