import ChangeFeed
import Foundations
import FuzzedLines
import Messaging
import Metering
import NIOCore
import Testing
@testable import WireProtocol

@testable import LineServer

@Suite("Push delivery", .timeLimit(.minutes(10)))
struct PushTests {
    /// A session whose `live` starts pushes from cursor c0 after its response and `close` ends them. It echoes anything
    /// else.
    static let live: StubSession.Body = { request, session in
        switch request.method {
        case "live":
            return Answer(.result(ByteBuffer(string: "{}"))) { session.startPushes() }
        case "close":
            session.sink.stopPushes()
            return .result(.object([:]))
        default:
            return .result(.object(request.params))
        }
    }

    func text(_ push: Push) -> String { String(String(buffer: push.line).dropLast()) }

    @Test("pushes follow the response that started them, in order")
    func order() async throws {
        try await withServer(.test(), Self.live) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            session.sink.push(push(0))
            try await client.goLive(session, 0)
            // Pushes during a thousand requests.
            try await withThrowingTaskGroup { group in
                group.addTask { for number in 1...1_000 { session.sink.push(push(number)) } }
                client.post(ByteBuffer(string: (1...1_000).map { request($0) + "\n" }.joined()))
                var answers = 0
                var pushes = 0
                while answers < 1_000 || pushes < 1_000 {
                    let line = try await client.line()
                    if line == answer(answers + 1) {
                        answers += 1
                    } else {
                        #expect(line == self.text(push(pushes + 1)))
                        pushes += 1
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("no push follows the response that ended them")
    func stopping() async throws {
        try await withServer(.test(), Self.live) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            for round in 0..<50 {
                try await client.goLive(session, round)
                for number in 0..<20 { session.sink.push(push(number)) }
                try await client.send(request(-1, "close") + "\n")
                while let line = try await client.line(), line != answer(-1) { #expect(line.contains("changes")) }
                for number in 0..<20 { session.sink.push(push(number)) }
                #expect(try await client.call(request(-2)) == answer(-2))
            }
        }
    }

    @Test("pushes to many arrive in order, and report their write")
    func many() async throws {
        try await withServer(.test(), Self.live) { server in
            var clients: [(client: TestClient, session: StubSession)] = []
            for number in 0..<8 {
                let client = try await server.connect()
                let session = try await server.sessions.next()
                clients.append((client, session))
                try await client.goLive(session, number)
            }
            let targets = Dictionary(grouping: clients.map(\.session.sink)) { ObjectIdentifier($0.pushTarget) }
            for sinks in targets.values {
                let written = AsyncPromise<Void>()
                let odd = sinks.indices.filter { $0 % 2 == 1 }.map { sinks[$0] }
                sinks[0].pushTarget.push(
                    [Multicast(push(1), receivers: sinks), Multicast(push(2), receivers: odd)]
                        + (3...40).map { Multicast(push($0), receivers: sinks) }
                ) { written.succeed(()) }
                try await written.value()
                for (place, sink) in sinks.enumerated() {
                    guard let client = clients.first(where: { $0.session.sink === sink })?.client else { continue }
                    for number in 1...40 where number != 2 || place % 2 == 1 {
                        #expect(try await client.line() == self.text(push(number)))
                    }
                }
            }
        }
    }

    @Test("a batch's hooks run after its response, in order")
    func batchHooks() async throws {
        try await withServer(.test()) { request, session in
            Answer(.result(ByteBuffer(string: "{}"))) {
                if request.method == "1" { session.startPushes() }
                session.sink.push(push(Int(request.method) ?? 0))
            }
        } test: { server in
            let client = try await server.connect()
            let line = try await client.call("[\(request(1, "1")),\(request(2, "2")),\(request(3, "3"))]")
            #expect(line == "[\(answer(1)),\(answer(2)),\(answer(3))]")
            for number in 1...3 { #expect(try await client.line() == self.text(push(number))) }
        }
    }

    @Test("a quiet connection is pinged, with a cursor when live")
    func pings() async throws {
        try await withServer(.test { $0.pingInterval = .milliseconds(40) }, Self.live) { server in
            let client = try await TestClient(server.address)
            let session = try await server.sessions.next()
            _ = try await client.line()
            #expect(try await client.line() == #"{"jsonrpc":"2.0","method":"server.ping","params":{}}"#)
            func next() async throws -> String? {
                while let line = try await client.line() {
                    if line != #"{"jsonrpc":"2.0","method":"server.ping","params":{}}"# { return line }
                }
                return nil
            }
            let ping = { (cursor: String) in
                #"{"jsonrpc":"2.0","method":"server.ping","params":{"cursor":"\#(cursor)"}}"#
            }
            try await client.send(request(1, "live") + "\n")
            #expect(try await next() == answer(1))
            #expect(try await client.line() == ping("c0"))
            session.sink.push(push(1))
            session.sink.noteCursor("c2")
            var line = try await client.line()
            while line == ping("c0") { line = try await client.line() }
            #expect(line == self.text(push(1)))
            #expect(try await client.line() == ping("c2"))
            try await client.send(request(2, "close") + "\n")
            while line != answer(2) { line = try await client.line() }
            #expect(try await client.line() == #"{"jsonrpc":"2.0","method":"server.ping","params":{}}"#)
        }
    }

    @Test("row 12: a slow consumer loses queued pushes and learns from where")
    func lagging() async throws {
        try await withServer(.test { $0.maxQueueBytes = 200_000 }, Self.live) { server in
            let slow = try await TestClient(server.address, receiveBufferBytes: 65_536)
            _ = try await slow.line()
            let slowSession = try await server.sessions.next()
            try await slow.goLive(slowSession, 1)
            let quick = try await server.connect()
            let quickSession = try await server.sessions.next()
            try await quick.goLive(quickSession, 1)

            // 20 MB: more than the kernel buffers for a socket.
            let count = 2_000
            for number in 1...count {
                let push = push(number, padding: 10_000)
                slowSession.sink.push(push)
                quickSession.sink.push(push)
                #expect(try await quick.line() == self.text(push))
            }

            var last = 0
            var line = try await slow.line()
            while let push = line, push.contains(#""method":"changes""#) {
                last += 1
                #expect(push == self.text(LineServerTests.push(last, padding: 10_000)))
                line = try await slow.line()
            }
            #expect(last < count)
            #expect(line == #"{"jsonrpc":"2.0","method":"sync.lagged","params":{"cursor":"c\#(last)"}}"#)

            // Nothing is pushed until it is live again.
            slowSession.sink.push(push(7))
            #expect(try await slow.call(request(2)) == answer(2))
            try await slow.goLive(slowSession, 3)
            slowSession.sink.push(push(8))
            #expect(try await slow.line() == self.text(push(8)))
        }
    }

    @Test("a burst over the limit is no lag while the socket accepts it")
    func bursts() async throws {
        try await withServer(.test { $0.maxQueueBytes = 100_000 }, Self.live) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            try await client.goLive(session, 1)
            for round in 0..<20 {
                for number in 0..<15 { session.sink.push(push(round * 15 + number, padding: 10_000)) }
                for number in 0..<15 {
                    #expect(try await client.line() == self.text(push(round * 15 + number, padding: 10_000)))
                }
            }
        }
    }

    @Test("row 13: closes a lagging client that does not drain")
    func slowConsumer() async throws {
        try await withServer(
            .test {
                $0.maxQueueBytes = 1_000_000
                // Long enough that the queue exceeds its limit before the kernel's buffer stalls.
                $0.slowConsumerTimeout = .seconds(isSanitized ? 120 : 10)
                $0.lingerTimeout = .milliseconds(100)
            }, Self.live
        ) { server in
            let slow = try await TestClient(server.address, receiveBufferBytes: 65_536)
            _ = try await slow.line()
            let session = try await server.sessions.next()
            try await slow.goLive(session, 1)
            let other = try await server.connect()
            // 20 MB: more than the kernel buffers for a socket.
            for number in 1...200 {
                session.sink.push(push(number, padding: 100_000))
                // Gives the server time to notice that the client does not read.
                if number % 5 == 0 { #expect(try await other.call(request(1)) == answer(1)) }
            }
            try await session.closed.value()
            let rest = try await slow.rest()
            #expect(rest.count < 200)
            #expect(server.metrics.text.contains("postline_slow_consumer_drops_total 1\n"))
            #expect(server.metrics.text.contains(#"postline_connections_closed_total{reason="slow_consumer"} 1"#))
            #expect(try await other.call(request(1)) == answer(1))
        }
    }

    @Test("row 13: closes a client that reads no responses at the deadline")
    func stalled() async throws {
        try await withServer(
            .test {
                $0.slowConsumerTimeout = .milliseconds(100)
                $0.lingerTimeout = .milliseconds(100)
            }
        ) { _, _ in
            .result(.string(String(repeating: "x", count: 1 << 20)))
        } test: { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            client.post(ByteBuffer(string: (0..<60).map { request($0) + "\n" }.joined()))
            try await session.closed.value()
            #expect(session.requests.count < 60)
        }
    }

    #if os(Linux)
    @Test("row 13: sets the TCP user timeout on each socket")
    func userTimeout() async throws {
        try await withServer(.test { $0.slowConsumerTimeout = .seconds(30) }) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            let sink = try #require(session.sink as? ConnectionSink)
            func option(_ name: ChannelOptions.Types.SocketOption) async throws -> Int {
                try await sink.loop.eventLoop.flatSubmit {
                    guard let channel = sink.connection?.context?.channel else {
                        return sink.loop.eventLoop.makeFailedFuture(Failure("no channel"))
                    }
                    return channel.getOption(name)
                }.map { (value: SocketOptionValue) in Int(value) }.get()
            }
            #expect(try await option(.tcpOption(.init(rawValue: CInt(TCP_USER_TIMEOUT)))) == 45_000)
            #expect(try await option(.socketOption(.so_keepalive)) != 0)
            #expect(try await option(.tcpOption(.init(rawValue: CInt(TCP_KEEPIDLE)))) == 60)
            #expect(try await client.call(request(1)) == answer(1))
        }
    }
    #endif

    @Test("hundreds of sessions receive everything in order")
    func fanOut() async throws {
        try await withServer(.test(), Self.live) { server in
            var clients: [TestClient] = []
            var sessions: [StubSession] = []
            for _ in 0..<300 {
                let client = try await server.connect()
                let session = try await server.sessions.next()
                try await client.goLive(session, 1)
                clients.append(client)
                sessions.append(session)
            }
            for number in 1...20 {
                let push = push(number)
                for session in sessions { session.sink.push(push) }
            }
            for client in clients {
                for number in 1...20 { #expect(try await client.line() == self.text(push(number))) }
            }
            for client in clients { try await client.close() }
        }
    }
}

extension TestClient {
    /// Makes a session of ``Pushing/live`` push from now on. The response may come before it does.
    fileprivate func goLive(_ session: StubSession, _ id: Int) async throws {
        #expect(try await self.call(request(id, "live")) == answer(id))
        await session.hasStartedPushes()
    }
}
