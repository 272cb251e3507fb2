@testable import DatabaseAccess
@testable import Foundations
import NIOCore
@testable import Postgres
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("Connection session")
struct ConnectionSessionTests {
    private let sink = RecordingSink()
    private let session: ConnectionSession

    init() async throws {
        session = ConnectionSession(service: try await .idle(), sink: sink, peerAddress: "192.0.2.1")
    }

    private func answer(_ method: String, _ params: JSONObject = [:]) async -> Answer {
        await session.answer(Request(method: method, params: params), RequestID(connection: 1, number: 1))
    }

    private func error(_ method: String, _ params: JSONObject = [:]) async throws -> ProtocolError {
        guard case .failure(let error) = await answer(method, params).content else {
            throw ProtocolError.fault("\(method) succeeds")
        }
        return error
    }

    @Test("answers public methods without sign-in")
    func info() async throws {
        guard case .result(let json) = await answer("server.info").content else {
            Issue.record("no result")
            return
        }
        #expect(String(buffer: json).contains(#""version":"1.2.3""#))
    }

    @Test("rejects methods of users without sign-in")
    func unauthenticated() async throws {
        #expect(try await error("me.get").code == .unauthenticated)
        #expect(try await error("messages.send", ["content": .string("hello")]).code == .unauthenticated)
        #expect(sink.orders.isEmpty)
    }

    @Test("rejects an unknown method and suggests the nearest")
    func unknown() async throws {
        let refusal = try await error("messages.sned")
        #expect(refusal.code == .unknownMethod)
        #expect(refusal.data.contains { $0.name == "suggestion" && $0.value == .string("messages.send") })
    }

    @Test("rejects a request without a user before checking its params")
    func params() async throws {
        #expect(try await error("messages.send", ["text": .string("hello")]).code == .unauthenticated)
        let refusal = try await error("auth.login", ["mail": .string("a@example.com")])
        #expect(refusal.code == .invalidParams)
        #expect(refusal.data.contains { $0.name == "field" && $0.value == .string("mail") })
    }

    @Test("rejects a malformed token", arguments: ["", "x.y.z", "a token"])
    func token(_ text: String) async throws {
        #expect(try await error("session.authenticate", ["access_token": .string(text)]).code == .invalidToken)
        #expect(try await error("me.get").code == .unauthenticated)
    }

    @Test("answers unavailable if the database is down, and stays open")
    func unavailable() async throws {
        let refusal = try await error(
            "auth.login", ["email": .string("alice@example.com"), "password": .string("a password")])
        #expect(refusal.code == .unavailable)
        #expect(refusal.code.isRetryable)
        guard case .result = await answer("server.info").content else {
            Issue.record("the session has ended")
            return
        }
    }

    @Test("ignores the end of other sessions")
    func others() async throws {
        await session.sessionEnded(ID.random())
        await session.userDeleted(ID.random())
        await session.close()
        #expect(sink.orders.isEmpty)
    }
}
