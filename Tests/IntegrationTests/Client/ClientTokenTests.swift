import BoundedWait
import Foundation
import TestSupport
import Testing

@testable import Postline

@Suite("Access tokens for apps")
@MainActor
struct ClientTokenTests {
    @Test("an access token authorizes HTTP requests and is cached", .covers("D15"))
    func valid() async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database)
            defer { node.command.signal(SIGKILL) }
            let http = try await node.command.port(of: "serving HTTP")
            try await AppDevice.with(.node(node.port)) { device in
                await #expect {
                    try await device.client.accessToken()
                } throws: { error in
                    (error as? PostlineError)?.code == .signedOut
                }
                try await device.signIn(.alice)
                let token = try await device.client.accessToken()
                #expect(token.expiresAt > Date())
                #expect(!"\(token)".contains(token.value))
                let answer = try await TestHTTPResponse.call("me.get", token: token.value, port: http)
                #expect(answer.status == 200 && answer.body.contains(Person.alice.id))
                #expect(try await TestHTTPResponse.call("me.get", port: http).status == 401)
                #expect(try await device.client.accessToken() == token)
                // A valid token needs no server.
                try await node.kill()
                try await device.waitUntil("the offline state") { if case .offline = $0.state { true } else { false } }
                #expect(try await device.client.accessToken() == token)
                try await device.client.signOut()
                await #expect {
                    try await device.client.accessToken()
                } throws: { error in
                    (error as? PostlineError)?.code == .signedOut
                }
            }
        }
    }

    @Test("renews an expired access token", .covers("D15"))
    func expired() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--access-token-seconds", "3"]) { node in
                let http = try await node.command.port(of: "serving HTTP")
                try await AppDevice.with(.node(node.port)) { device in
                    try await device.signIn(.alice)
                    let first = try await device.client.accessToken()
                    try await eventually("the end of the first token") {
                        try await TestHTTPResponse.call("me.get", token: first.value, port: http).status == 401
                    }
                    try await eventually("a new token that is good") {
                        let token = try await device.client.accessToken()
                        let status = try await TestHTTPResponse.call("me.get", token: token.value, port: http).status
                        return token.value != first.value && token.expiresAt > first.expiresAt && status == 200
                    }
                }
            }
        }
    }

    @Test("concurrent requests for a token share one renewal", .covers("D15"))
    func renewedOnce() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database, ["--access-token-seconds", "15"]) { node in
                let folder = FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: folder) }
                let connection = try await LineConnection.connect(to: .node(node.port), by: PosixConnector())
                defer { connection.close() }
                let tokens: Tokens = try await connection.call("auth.guest", [String: String]())
                let keeper = TokenKeeper(tokens: tokens, secrets: FileSecretStore(folder: folder))
                let first = try await keeper.accessToken(connection)
                #expect(first.value == tokens.accessToken)
                #expect(try await keeper.accessToken(connection) == first)
                try await eventually("the time to renew it") { await keeper.validAccessToken() == nil }
                let renewals = try await database.value("select sum(generation) from app.sessions")
                let renewed = try await withThrowingTaskGroup { group in
                    for _ in 0..<8 { group.addTask { try await keeper.accessToken(connection) } }
                    return try await group.reduce(into: Set<AccessToken>()) { $0.insert($1) }
                }
                #expect(renewed.count == 1 && !renewed.contains(first))
                #expect(
                    try await database.value("select sum(generation) from app.sessions")
                        == renewals.flatMap { Int($0) }.map { "\($0 + 1)" })
            }
        }
    }
}
