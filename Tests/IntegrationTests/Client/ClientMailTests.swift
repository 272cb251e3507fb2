import Foundation
import Outbox
import TestSupport
import Testing

@testable import Postline

@Suite("Client accounts by mail")
@MainActor
struct ClientMailTests {
    private static func with(
        _ change: (inout NodeSettings) -> Void = { _ in },
        _ body: @MainActor @Sendable (TestNode, MailServer) async throws -> Void
    ) async throws {
        var settings = NodeSettings()
        change(&settings)
        try await MailServer.with { [settings] server in
            var settings = settings
            settings.mail = MailSettings(
                .smtp(.init(url: "smtp://127.0.0.1:\(server.port)", needsTLS: false)),
                from: try #require(MailAddress("chat@example.com")))
            try await withNode(settings) { try await body($0, server) }
        }
    }

    @Test(
        "a guest resets a forgotten password by mail and signs in")
    func reset() async throws {
        try await Self.with { node, server in
            try await AppDevice.with(.node(node.port)) { device in
                try await device.client.signInAsGuest(fullName: "Gwen")
                try await device.waitUntilLive()
                try await device.client.requestPasswordReset(email: "Bob@example.com")
                let token = try #require(try await server.mails(1, to: "bob@example.com")[0].token)
                await #expect {
                    try await device.client.resetPassword(token: "guessed", to: "another password")
                } throws: { error in
                    (error as? PostlineError)?.code == .invalidToken
                }
                try await device.client.resetPassword(token: token, to: "another password")
                guard case .guest = device.client.account else {
                    Issue.record("the guest is still the guest")
                    return
                }
                let merged = try await device.client.signIn(email: "bob@example.com", password: "another password")
                #expect(merged == .init(conversations: 0, messages: 0))
                #expect(device.client.account == .user(id: .bob))
                let open = try await node.database.value(
                    """
                    select count(*) from app.sessions
                    where user_id = '\(Person.bob.id)' and revoked_at is null
                    """)
                #expect(open == "1")
            }
        }
    }

    @Test("shows a new address once it is confirmed", .covers("B9"))
    func change() async throws {
        try await Self.with { node, server in
            try await AppDevice.with(.node(node.port)) { device in
                try await device.client.signIn(email: "carol@example.com", password: TestNode.password)
                try await device.waitUntil("the address") { $0.me?.email == "carol@example.com" }
                await #expect {
                    try await device.client.requestEmailChange(to: "new@example.com", password: "wrong")
                } throws: { error in
                    (error as? PostlineError)?.code == .invalidCredentials
                }
                try await device.client.requestEmailChange(to: "new@example.com", password: TestNode.password)
                let token = try #require(try await server.mails(1, to: "new@example.com")[0].token)
                #expect(try await device.client.confirmEmail(token: token) == "new@example.com")
                try await device.waitUntil("the new address") { $0.me?.email == "new@example.com" }
            }
        }
    }

    @Test("sign-in requires a confirmed address if the server does")
    func waits() async throws {
        try await Self.with({ $0.signInNeedsConfirmedEmail = true }) { node, server in
            try await AppDevice.with(.node(node.port)) { device in
                let client = device.client
                await #expect {
                    try await client.register(
                        email: "wanda@example.com", password: TestNode.password, fullName: "Wanda")
                } throws: { error in
                    (error as? PostlineError)?.code == .emailUnconfirmed
                }
                #expect(client.account == .signedOut)
                let token = try #require(try await server.mails(1, to: "wanda@example.com")[0].token)
                try await client.confirmEmail(token: token)
                try await client.signIn(email: "wanda@example.com", password: TestNode.password)
                try await device.waitUntil("her name") { $0.me?.fullName == "Wanda" }
            }
        }
    }
}
