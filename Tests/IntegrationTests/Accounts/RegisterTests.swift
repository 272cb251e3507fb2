import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("auth.register", .timeLimit(.minutes(20)))
struct RegisterTests {
    private static let whole: JSONObject = [
        "email": "New.Person@Example.com", "password": "correct horse", "username": "New.Person",
        "full_name": "  Zoë  ",
    ]

    @Test("registration creates an account and signs in", .covers("D9", "D13"))
    func register() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let tokens = try await client.call("auth.register", Self.whole)
            expectShape(tokens, Shape.tokens)
            let me = try await client.call("me.get")
            expectMe(me)
            #expect(me["id"] == tokens["user_id"])
            #expect(me["email"] == "new.person@example.com")
            #expect(me["username"] == "new.person")
            #expect(me["full_name"] == "Zoë")
            let again = try await node.connect()
            let login = try await again.call(
                "auth.login", ["email": "new.person@EXAMPLE.com", "password": "correct horse"])
            #expect(login["user_id"] == tokens["user_id"])
            try await again.refused(
                .invalidCredentials, "auth.login", ["email": "new.person@example.com", "password": "correct horse "])
        }
    }

    @Test("stores no readable password")
    func hashed() async throws {
        try await withNode { node in
            let client = try await node.connect()
            try await client.call("auth.register", Self.whole)
            let hash = try await node.database.value(
                "select encrypted_password from auth.users where email = 'new.person@example.com'")
            #expect(hash?.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$") == true)
        }
    }

    @Test("rejects a taken username or address")
    func taken() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let taken = try await client.refused(
                .usernameTaken, "auth.register",
                ["email": "n@example.com", "password": "longenough", "username": "ALICE", "full_name": "N"])
            #expect(taken?.field == "username")
            let email = try await client.refused(
                .emailTaken, "auth.register",
                ["email": "ALICE@example.com", "password": "longenough", "username": "free", "full_name": "N"])
            #expect(email?.field == "email")
            try await client.refused(.unauthenticated, "me.get")
            #expect(try await node.database.value("select count(*) from auth.users") == "6")
            #expect(try await node.database.value("select count(*) from public.user_profiles") == "6")
        }
    }

    @Test("registration rejects invalid params by name")
    func params() async throws {
        try await withNode { node in
            let client = try await node.connect()
            func with(_ name: String, _ value: JSON?) -> JSONObject {
                JSONObject(
                    Self.whole.members.filter { $0.name != name } + (value.map { [.init(name: name, value: $0)] } ?? [])
                )
            }
            let bad: [(String, JSON?)] = [
                ("email", nil), ("email", "no address"), ("email", "a@b"), ("email", "@example.com"),
                ("email", "a b@c.de"),
                ("email", ""), ("email", 7), ("email", .string(String(repeating: "a", count: 250) + "@b.de")),
                ("password", nil), ("password", "1234567"), ("password", .string(String(repeating: "x", count: 73))),
                ("password", ["12345678"]),
                ("username", "ab"), ("username", "1abc"), ("username", "häns"), ("username", "a b c"),
                ("username", .string(String(repeating: "a", count: 31))), ("username", ""), ("username", true),
                ("full_name", nil), ("full_name", ""), ("full_name", "  \u{200B} "), ("full_name", "a\u{202E}b"),
                ("full_name", "a\u{7}b"), ("full_name", .string(String(repeating: "n", count: 101))),
                ("full_name", .null),
            ]
            for (name, value) in bad {
                let error = try await client.refused(.invalidParams, "auth.register", with(name, value))
                #expect(error?.field == name, "\(name): \(value?.text ?? "absent")")
            }
            #expect(try await node.database.value("select count(*) from auth.users") == "6")
        }
    }

    @Test("has inclusive bounds, in bytes or code points")
    func bounds() async throws {
        try await withNode { node in
            let params: [JSONObject] = [
                ["email": "a@example.com", "password": "12345678", "username": "abc", "full_name": "x"],
                [
                    "email": "b@example.com", "password": .string(String(repeating: "é", count: 36)),
                    "username": .string("a" + String(repeating: "9", count: 29)),
                    "full_name": .string(String(repeating: "😀", count: 100)),
                ],
                ["email": "c@example.com", "password": "12345678", "username": .null, "full_name": "x"],
            ]
            for params in params { try await node.connect().call("auth.register", params) }
            let client = try await node.connect()
            try await client.refused(
                .invalidParams, "auth.register",
                ["email": "d@example.com", "password": .string(String(repeating: "é", count: 37)), "full_name": "x"],
                field: "password")
        }
    }

    @Test("registration rejects a signed-in connection")
    func otherUser() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            try await client.refused(.invalidRequest, "auth.register", Self.whole)
            #expect(try await client.call("me.get")["username"] == "alice")
            #expect(try await node.database.value("select count(*) from auth.users") == "6")
        }
    }

    @Test("gives a contested username to one registration")
    func race() async throws {
        try await withNode { node in
            let codes = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let client = try await node.connect()
                        do {
                            try await client.call(
                                "auth.register",
                                [
                                    "email": "\(number)@example.com", "password": "longenough", "username": "one",
                                    "full_name": "N",
                                ])
                            return "made"
                        } catch let error as RemoteError {
                            return error.code
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }.sorted()
            }
            #expect(codes == ["made"] + Array(repeating: "username_taken", count: 7))
            #expect(try await node.database.value("select count(*) from auth.users") == "7")
        }
    }
}
