import BoundedWait
@testable import ChangeFeed
import Logging
import Messaging
import NIOCore
import ServiceLifecycle
import Testing
import WireProtocol

@testable import LineServer

@Suite("Server-initiated disconnects", .timeLimit(.minutes(10)))
struct DisconnectTests {
    func goodbye(_ code: GoodbyeCode, _ message: String = "Why.") -> String {
        #"{"jsonrpc":"2.0","method":"server.goodbye","params":{"code":"\#(code.rawValue)","message":"\#(message)","#
            + #""reconnect":\#(code.reconnect)}}"#
    }

    @Test("the reason is the last line, despite further input", arguments: GoodbyeCode.allCases)
    func goodbyes(_ code: GoodbyeCode) async throws {
        try await withServer(.test()) { request, session in
            Answer(.result(ByteBuffer(string: "{}"))) {
                if request.method == "leave" { session.sink.goodbye(Goodbye(code, "Why.")) }
            }
        } test: { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            client.post(
                ByteBuffer(string: (0..<10_000).map { request($0, $0 == 0 ? "leave" : "later") + "\n" }.joined()))
            let lines = try await client.rest()
            #expect(lines.first == answer(0))
            #expect(lines.last == self.goodbye(code))
            #expect(lines.count == 2)
            #expect(session.requests == ["leave"])
            try await session.closed.value()
        }
    }

    @Test("an external goodbye does not wait for the running request")
    func goodbyeFromOutside() async throws {
        let gate = AsyncPromise<Void>()
        let begun = AsyncPromise<Void>()
        try await withServer(.test()) { _, _ in
            begun.succeed(())
            try? await gate.value()
            return .result(.null)
        } test: { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            try await client.send(request(1) + "\n" + request(2) + "\n")
            try await begun.value()
            session.sink.goodbye(Goodbye(.sessionRevoked, "Why."))
            session.sink.goodbye(Goodbye(.slowConsumer, "Too late."))
            #expect(try await client.rest() == [self.goodbye(.sessionRevoked)])
            gate.succeed(())
            try await session.closed.value()
            #expect(session.requests.count == 1)
        }
    }

    @Test("a session's calls to a closed connection do nothing")
    func afterwards() async throws {
        try await withServer { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            try await client.close()
            try await session.closed.value()
            session.sink.startPushes(cursor: "c0")
            session.sink.push(push(1))
            session.sink.setExpiry(nil)
            session.sink.goodbye(Goodbye(.shuttingDown, "Why."))
            let other = try await server.connect()
            #expect(try await other.call(request(1)) == answer(1))
        }
    }

    @Test("a graceful shutdown answers accepted requests and says goodbye")
    func shutdown() async throws {
        let gate = AsyncPromise<Void>()
        let begun = AsyncPromise<Void>()
        try await withServer(.test()) { request, _ in
            if request.method == "slow" {
                begun.succeed(())
                try? await gate.value()
            }
            return .result(.object([:]))
        } test: { server in
            let idle = try await server.connect()
            let idleSession = try await server.sessions.next()
            let client = try await server.connect()
            let session = try await server.sessions.next()
            // Few enough to fit any read of a connection except its first.
            #expect(try await client.call(request(9)) == answer(9))
            try await client.send((0..<5).map { request($0, "slow") + "\n" }.joined())
            try await begun.value()
            await server.stop()
            #expect(try await idle.rest() == [self.goodbye(.shuttingDown, "The server is shutting down.")])
            await #expect(throws: (any Error).self) {
                // Connections that are being accepted get at most a goodbye.
                for _ in 0..<10_000 {
                    let late = try await TestClient(server.address)
                    _ = try await late.rest()
                }
            }
            gate.succeed(())
            let lines = try await client.rest()
            #expect(lines == (0..<5).map { answer($0) } + [self.goodbye(.shuttingDown, "The server is shutting down.")])
            try await session.closed.value()
            try await idleSession.closed.value()
        }
    }

    @Test("a connection that does not end delays a cancelled wait by a bounded time")
    func unendedConnection() async {
        let connections = OpenConnections(cutTimeout: .milliseconds(1))
        connections.enter()
        let wait = Task { await connections.haveEnded() }
        wait.cancel()
        await wait.value
        #expect(connections.count == 1)
    }

    @Test("the service ends after its last connection")
    func shutdownEnds() async throws {
        let server = LineServer(configuration: .test(), sessions: StubSessions(echo), logger: Logger(label: "test"))
        let services = ServiceGroup(services: [server], logger: Logger(label: "test"))
        async let ended: Void = services.run()
        let client = try await TestClient(server.address)
        _ = try await client.line()
        await services.triggerGracefulShutdown()
        #expect(try await client.rest() == [self.goodbye(.shuttingDown, "The server is shutting down.")])
        try await client.close()
        try await ended
    }

    @Test("a hanging request delays shutdown up to the limit")
    func shutdownBound() async throws {
        let begun = AsyncPromise<Void>()
        let sessions = StubSessions { _, _ in
            begun.succeed(())
            try? await Task.sleep(for: .seconds(3_600))
            return .result(.null)
        }
        let server = LineServer(
            configuration: .test { $0.shutdownTimeout = .milliseconds(100) }, sessions: sessions,
            logger: Logger(label: "test"))
        let services = ServiceGroup(services: [server], logger: Logger(label: "test"))
        async let ended: Void = services.run()
        let client = try await TestClient(server.address)
        _ = try await client.line()
        try await client.send(request(1) + "\n")
        try await begun.value()
        await services.triggerGracefulShutdown()
        try await ended
        _ = try await client.rest()
    }

    @Test("a client that stays open delays shutdown up to the linger time")
    func linger() async throws {
        try await withServer(.test { $0.lingerTimeout = .milliseconds(50) }) { server in
            let client = try await server.connect()
            let session = try await server.sessions.next()
            session.sink.goodbye(Goodbye(.tokenExpired, "Why."))
            #expect(try await client.rest() == [self.goodbye(.tokenExpired)])
            // The server closes the connection in the end, though this side never did.
            try await eventually("the end of the connection") { (try? await client.send("x")) == nil }
        }
    }
}
