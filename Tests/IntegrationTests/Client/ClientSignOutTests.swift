import BoundedWait
import Foundation
import Testing

@testable import Postline

@Suite("Client sign-out")
@MainActor
struct ClientSignOutTests {
    /// The number of sessions that have not ended.
    private func sessions(_ database: TestDatabase) async throws -> String? {
        try await database.value("select count(*) from app.sessions where revoked_at is null")
    }

    @Test(
        "a sign-out without a connection ends the session once the server is back", arguments: [false, true])
    func withoutConnection(isTokenRejected: Bool) async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database)
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                try await node.kill()
                try await device.waitUntil("the offline state") { $0.state != .live }
                try await device.client.signOut()
                let secrets = FileSecretStore(folder: device.folder)
                #expect(device.client.account == .signedOut)
                #expect(try secrets.read(named: Person.alice.id) == nil)
                var kept = try #require(device.client.endedSessions.first())
                if isTokenRejected {
                    try device.client.endedSessions.remove(kept)
                    kept.accessToken = "of another time"
                    try device.client.endedSessions.add(kept)
                }
                try await device.relaunch()
                #expect(device.client.account == .signedOut)
                #expect(try await sessions(database) == "1")
                let later = try await ServeProcess.start(database, port: node.port)
                defer { later.command.signal(SIGKILL) }
                device.client.networkChanged()
                try await eventually("the end of the session") { try await sessions(database) == "0" }
                try await device.waitUntil("the tokens to be erased") { $0.endedSessions.first() == nil }
            }
        }
    }

    @Test("a session that is kept ends while another user is signed in, and not before a call to connect")
    func otherUser() async throws {
        try await withDevice { database, _, device in
            try await device.signIn(.alice)
            await device.client.disconnect()
            try await device.client.signOut()
            try await device.client.signIn(email: Person.bob.email, password: "postline-dev")
            #expect(device.client.endedSessions.first()?.userID == .alice)
            #expect(try await sessions(database) == "2")
            try device.client.connect()
            try await eventually("the end of the session") { try await sessions(database) == "1" }
            try await device.waitUntilLive()
            #expect(device.client.account == .user(id: .bob))
        }
    }

    @Test("keeps ten sessions, and erases one that the server does not know")
    func bounds() async throws {
        try await withDevice { _, _, device in
            let sessions = device.client.endedSessions
            for number in 0..<12 {
                try sessions.add(
                    Tokens(accessToken: "\(number)", refreshToken: "r", userID: .alice, isGuest: false))
            }
            #expect(sessions.first()?.accessToken == "2")
            try await device.relaunch()
            try await device.waitUntil("the tokens to be erased") { $0.endedSessions.first() == nil }
        }
    }
}
