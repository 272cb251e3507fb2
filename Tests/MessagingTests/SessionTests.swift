import NIOCore
import Testing

@testable import Messaging

@Suite("What a session answers by itself")
struct SessionTests {
    private let sink = RecordingSink()
    private let session: Session

    init() async throws {
        session = Session(service: try await .idle(), sink: sink, peerAddress: "192.0.2.1")
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

    @Test("what anybody may ask is answered before anybody has signed in")
    func info() async throws {
        guard case .result(let json) = await answer("server.info").content else {
            Issue.record("no result")
            return
        }
        #expect(String(buffer: json).contains(#""version":"1.2.3""#))
    }

    @Test("a method of a user is refused before anybody has signed in, and nothing of it is done")
    func unauthenticated() async throws {
        #expect(try await error("me.get").code == .unauthenticated)
        #expect(try await error("messages.send", ["content": .string("hello")]).code == .unauthenticated)
        #expect(sink.orders.isEmpty)
    }

    @Test("a method that there is not is refused with the nearest one there is")
    func unknown() async throws {
        let refusal = try await error("messages.sned")
        #expect(refusal.code == .unknownMethod)
        #expect(refusal.data.contains { $0.name == "suggestion" && $0.value == .string("messages.send") })
    }

    @Test("a request without a user is refused before its params are looked at")
    func params() async throws {
        #expect(try await error("messages.send", ["text": .string("hello")]).code == .unauthenticated)
        let refusal = try await error("auth.login", ["mail": .string("a@example.com")])
        #expect(refusal.code == .invalidParams)
        #expect(refusal.data.contains { $0.name == "field" && $0.value == .string("mail") })
    }

    @Test("a token that says nothing makes nobody of anybody", arguments: ["", "x.y.z", "a token"])
    func token(_ text: String) async throws {
        #expect(try await error("session.authenticate", ["access_token": .string(text)]).code == .invalidToken)
        #expect(try await error("me.get").code == .unauthenticated)
    }

    @Test("a database that cannot be asked is told as that, not as a fault, and the session goes on")
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

    @Test("the end of somebody else's session is no matter of this one's")
    func others() async throws {
        await session.end(of: ID.random())
        await session.end(ofUser: ID.random())
        await session.close()
        #expect(sink.orders.isEmpty)
    }
}
