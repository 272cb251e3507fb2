import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Signing in with external accounts")
@MainActor
struct ClientAppleTests {
    @Test("a guest who signs in with Apple becomes the account", .covers("E3"))
    func apple() async throws {
        let key = try AppleKey("one")
        var settings = NodeSettings()
        settings.apple = try key.signIn()
        try await withNode(settings) { node in
            try await Self.apple(node, key)
        }
    }

    private static func apple(_ node: TestNode, _ key: AppleKey) async throws {
        try await AppDevice.with(.node(node.port)) { device in
            try await device.client.signInAsGuest(fullName: "Gwen")
            try await device.waitUntilLive()
            guard case .guest(let id) = device.client.account else { throw PostlineError(.signedOut, "no guest") }
            try await device.client.updateProfile { $0.location = "Here" }
            let merged = try await device.client.signIn(
                appleIdentityToken: key.token("sue", ["nonce": #""abc""#]), nonce: "abc", fullName: "Sue")
            #expect(merged == .init(conversations: 0, messages: 0))
            #expect(device.client.account == .user(id: id))
            try await device.waitUntil("its data") { $0.me?.location == "Here" && $0.me?.fullName == "Sue" }
            // A used token does not sign in.
            try await device.client.signOut(erasing: true)
            let token = try key.token("sue")
            try await device.client.signIn(appleIdentityToken: token)
            #expect(device.client.account == .user(id: id))
            try await device.client.signOut()
            await #expect {
                try await device.client.signIn(appleIdentityToken: token)
            } throws: { error in
                (error as? PostlineError)?.code == .invalidToken
            }
        }
    }

    @Test("merges a guest into an external account by both tokens", .covers("E6"))
    func external() async throws {
        let guest = "11111111-1111-4111-8111-111111111111"
        var claims = TestToken(sub: guest, session_id: nobody)
        claims.is_anonymous = true
        let guestToken = try await claims.signed()
        let token = try await TestToken(sub: Person.frank.id, session_id: nobody).signed()
        try await withNode(NodeSettings.external) { node in
            try await node.database.psql("insert into auth.users (id, is_anonymous) values ('\(guest)', true)")
            try await Self.external(node, guestToken, token)
        }
    }

    private static func external(_ node: TestNode, _ guestToken: String, _ token: String) async throws {
        try await AppDevice.with(.node(node.port)) { device in
            try await device.client.signIn(accessToken: guestToken)
            try await device.waitUntilLive()
            try await device.client.updateProfile { $0.website = "https://gwen.example.com" }
            await #expect {
                try await device.client.signIn(accessToken: token)
            } throws: { error in
                (error as? PostlineError)?.code == .invalidRequest
            }
            let merged = try await device.client.signIn(accessToken: token, guestAccessToken: guestToken)
            #expect(merged == .init(conversations: 0, messages: 0))
            #expect(device.client.account == .user(id: .frank))
            try await device.waitUntil("the guest's data") { $0.me?.website == "https://gwen.example.com" }
        }
    }
}
