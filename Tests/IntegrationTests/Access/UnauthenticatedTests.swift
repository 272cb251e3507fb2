import BoundedWait
@testable import LineClient
@testable import Messaging
import NIOCore
import Testing
@testable import WireProtocol

@Suite("Unauthenticated clients", .timeLimit(.minutes(20)))
struct UnauthenticatedTests {
    /// The methods that the protocol marks with `U`.
    private static let open: Set<String> = [
        "server.info", "session.authenticate", "auth.register", "auth.login", "auth.guest", "auth.refresh",
        "avatars.list", "auth.apple", "auth.request_password_reset", "auth.reset_password", "auth.confirm_email",
    ]

    @Test("are rejected by every method that needs a user")
    func all() async throws {
        try await withNode { node in
            for method in SampleParameters.methods {
                let client = try await node.connect()
                let params = try #require(
                    SampleParameters.params(of: method), "\(method.method) has a parameter without a sample value")
                let text = try await client.answerText(method.method, .object(params))
                #expect(
                    text.contains(#""code":"unauthenticated""#) == !Self.open.contains(method.method),
                    "\(method.method): \(text)")
                await client.close()
            }
        }
    }

    @Test("are rejected before params are checked")
    func order() async throws {
        try await withNode { node in
            let client = try await node.connect()
            for method in SampleParameters.methods where !Self.open.contains(method.method) {
                try await client.refused(.unauthenticated, method.method)
            }
        }
    }

    @Test("row 3: are disconnected after the authentication timeout")
    func deadline() async throws {
        // Long enough to sign in on a busy machine.
        try await withNode(NodeSettings(authenticationSeconds: 15)) { node in
            let signedIn = try await node.signedIn(.alice)
            let silent = try await node.connect()
            let talking = try await node.connect()
            async let drip: Void = {
                // A byte of an endless request follows each response, so no sleep sets the pace.
                while await !talking.line.isClosed {
                    try? await talking.line.send(bytes: ByteBuffer(string: " "))
                    _ = try? await signedIn.call("server.info")
                }
            }()
            for client in [silent, talking] {
                try await within("the goodbye") { await client.line.waitUntilClosed() }
                let goodbye = await client.line.goodbye
                #expect(goodbye?.code == "authentication_timeout")
                #expect(goodbye?.reconnect == true)
            }
            await drip
            try await signedIn.call("me.get")
        }
    }
}
