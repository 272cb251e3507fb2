@testable import Accounts
import LineClient
import Logging
import TestSupport
import Testing
import WireProtocol

@Suite("auth.login", .timeLimit(.minutes(20)))
struct LoginTests {
    @Test("login returns tokens and authenticates the connection", .covers("D9", "D13", "D14"))
    func login() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let tokens = try await client.call(
                "auth.login", ["email": "Alice@Example.COM", "password": .string(TestNode.password)])
            expectShape(tokens, Shape.tokens)
            #expect(tokens["token_type"] == "bearer")
            #expect(tokens["expires_in"] == 3600)
            #expect(tokens["user_id"]?.stringValue == Person.alice.id)
            #expect(tokens["is_guest"] == false)
            expectTimestamp(tokens["expires_at"])
            #expect(try await client.call("me.get")["username"] == "alice")
        }
    }

    @Test("row 46: answers unknown addresses and wrong passwords identically")
    func sameBytes() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let unknown = try await client.answerText(
                "auth.login", ["email": "nobody@example.com", "password": "wrong"])
            let wrong = try await client.answerText("auth.login", ["email": "alice@example.com", "password": "wrong"])
            #expect(unknown == wrong)
            #expect(wrong.contains(#""code":"invalid_credentials""#))
            try await client.refused(.unauthenticated, "me.get")
        }
    }

    @Test("login rejects invalid params by name")
    func params() async throws {
        try await withNode { node in
            let client = try await node.connect()
            try await client.refused(.invalidParams, "auth.login", ["password": "x"], field: "email")
            try await client.refused(.invalidParams, "auth.login", ["email": "alice@example.com"], field: "password")
            try await client.refused(.invalidParams, "auth.login", ["email": 1, "password": "x"], field: "email")
            try await client.refused(.invalidParams, "auth.login", ["email": .null, "password": "x"], field: "email")
            let error = try await client.refused(
                .invalidParams, "auth.login", ["e_mail": "a@b.c", "password": "x"], field: "e_mail")
            #expect(error?.data["suggestion"] == "email")
        }
    }

    @Test("rejects another user's connection and renews its own")
    func otherUser() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let bob: JSONObject = ["email": .string(Person.bob.email), "password": .string(TestNode.password)]
            try await client.refused(.invalidRequest, "auth.login", bob)
            #expect(try await client.call("me.get")["username"] == "alice")
            try await client.signIn(.alice)
            #expect(try await client.call("me.get")["username"] == "alice")
            #expect(
                try await node.database.value("select count(*) from app.sessions where user_id = '\(Person.bob.id)'")
                    == "0")
        }
    }

    @Test("accepts an imported Supabase password and rehashes it")
    func bcrypt() async throws {
        try await withNode { node in
            // The bcrypt hash of `a password` as by Supabase's auth server, with a lower cost.
            let hash = "$2a$04$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue"
            try await node.database.psql(
                "update auth.users set encrypted_password = '\(hash)' where id = '\(Person.bob.id)'")
            let client = try await node.connect()
            func login(_ password: String) -> JSONObject {
                ["email": .string(Person.bob.email), "password": .string(password)]
            }
            try await client.refused(.invalidCredentials, "auth.login", login("another password"))
            for _ in 1...2 {
                #expect(try await client.call("auth.login", login("a password"))["user_id"] == .string(Person.bob.id))
            }
            let stored = try await node.database.value(
                "select encrypted_password from auth.users where id = '\(Person.bob.id)'")
            #expect(stored?.hasPrefix("$argon2id$") == true)
        }
    }

    @Test("rejects passwords that bcrypt would truncate")
    func longPasswords() async throws {
        try await withNode { node in
            let longest = String(repeating: "0123456789ab", count: 6)
            let hash = "$2a$04$x0KtZpjz09fEGmuQ8NiquefU1mR21HT51kVI3ceQAoF85ynsnqY4i"
            try await Self.store(hash, on: node)
            let client = try await node.connect()
            try await client.refused(
                .invalidParams, "auth.login", Self.bob(longest + "X"), field: "password")
            try await client.refused(.invalidCredentials, "auth.login", Self.bob(String(longest.dropLast())))
            #expect(try await Self.stored(on: node) == hash)
            for _ in 1...2 { try await client.call("auth.login", Self.bob(longest)) }
            try await client.refused(
                .invalidParams, "auth.change_password",
                ["current_password": .string(longest + "X"), "new_password": "another password"],
                field: "current_password")
            try await client.refused(
                .invalidParams, "me.delete", ["password": .string(longest + "X")], field: "password")
        }
    }

    @Test("rehashes an imported password once in concurrent sign-ins")
    func importedAtOnce() async throws {
        try await withTwoNodes { one, other in
            try await Self.store("$2a$04$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue", on: one)
            let outcomes = try await concurrentOutcomes(0..<12) { number in
                let client = try await (number.isMultiple(of: 2) ? one : other).connect()
                try await client.call("auth.login", Self.bob("a password"))
            }
            #expect(outcomes == Array(repeating: "done", count: 12))
            #expect(try await Self.stored(on: one)?.hasPrefix("$argon2id$") == true)
        }
    }

    @Test("row 46: treats an unreadable hash as a wrong password and logs it")
    func unreadable() async throws {
        let lines = LoggedLines()
        var settings = NodeSettings()
        settings.logger = Logger(label: "test") { _ in lines }
        try await withNode(settings) { node in
            let client = try await node.connect()
            let wrong = try await client.answerText(
                "auth.login", ["email": "alice@example.com", "password": "a password"])
            for hash in [
                "plain", "$fbscrypt$v=1,n=14,r=8,p=1$c2FsdA==$aGFzaA==", "$1$salt$qJH7.N4xYta3aEG/dfqo/0", "$2x$zz",
                "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
                "$2a$31$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue",
                "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$not/base64!",
            ] {
                try await Self.store(hash, on: node)
                #expect(try await client.answerText("auth.login", .object(Self.bob("a password"))) == wrong)
            }
            #expect(
                lines.all.filter { $0.contains("password hash") } == [
                    "warning a stored password hash cannot be used user=\(Person.bob.id)"
                ])
        }
    }

    private static func bob(_ password: String) -> JSONObject {
        ["email": .string(Person.bob.email), "password": .string(password)]
    }

    private static func store(_ hash: String, on node: TestNode) async throws {
        try await node.database.psql(
            "update auth.users set encrypted_password = '\(hash)' where id = '\(Person.bob.id)'")
    }

    private static func stored(on node: TestNode) async throws -> String? {
        try await node.database.value("select encrypted_password from auth.users where id = '\(Person.bob.id)'")
    }

    @Test("login is forbidden with external accounts")
    func external() async throws {
        try await withNode(NodeSettings(accountProvider: .external)) { node in
            let client = try await node.connect()
            try await client.refused(
                .forbidden, "auth.login", ["email": .string(Person.bob.email), "password": .string(TestNode.password)])
            try await client.refused(
                .forbidden, "auth.register", ["email": "n@example.com", "password": "longenough", "full_name": "N"])
            #expect(
                try await node.database.value("select count(*) from auth.users where email = 'n@example.com'") == "0")
        }
    }
}
