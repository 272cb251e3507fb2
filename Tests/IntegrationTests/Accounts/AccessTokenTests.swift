import Foundation
import LineClient
import NIOCore
import TestSupport
import Testing
import WireProtocol

@Suite("Access tokens", .timeLimit(.minutes(20)))
struct AccessTokenTests {
    private static let claims = [
        "sub", "aud", "role", "iss", "iat", "exp", "email", "phone", "session_id", "is_anonymous", "aal",
        "app_metadata", "user_metadata",
    ]

    /// Returns the claims of a token.
    private static func claims(of tokens: JSON) throws -> JSON {
        let parts = tokens["access_token"]?.stringValue?.split(separator: ".") ?? []
        try #require(parts.count == 3)
        let text = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        let data = try #require(Data(base64Encoded: text + String(repeating: "=", count: (4 - text.count % 4) % 4)))
        return try JSON(parsing: ByteBuffer(bytes: data))
    }

    @Test("contain no name, for any kind of sign-in", .covers("D13"))
    func noName() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let guest = try await client.becomeGuest("Nomen Nescio")
            let upgraded = try await client.call(
                "auth.upgrade",
                [
                    "email": "nomen@example.com", "password": .string(TestNode.password),
                    "full_name": "Nomen Nescio the Elder",
                ])
            let loggedIn = try await node.connect().logIn("nomen@example.com")
            let refreshed = try await client.call("auth.refresh", ["refresh_token": loggedIn["refresh_token"] ?? .null])
            let registered = try await node.connect().register("Nomen Nescio")
            for tokens in [guest, upgraded, loggedIn, refreshed, registered] {
                let claims = try Self.claims(of: tokens)
                #expect(Set(claims.names) == Set(Self.claims))
                #expect(claims["user_metadata"] == [:])
                // F11: the claims that Supabase's policies use.
                #expect(claims["aal"] == "aal1")
                #expect(!claims.text.contains("Nomen"))
            }
            #expect(try await client.call("me.get")["full_name"] == "Nomen Nescio the Elder")
            // The sign-in method is not part of a profile.
            #expect(try Self.claims(of: loggedIn)["app_metadata"]?["provider"] == "email")
        }
    }
}
