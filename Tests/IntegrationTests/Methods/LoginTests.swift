import LineClient
import Messaging
import Testing

@Suite("auth.login", .timeLimit(.minutes(60)))
struct LoginTests {
    @Test("answers with tokens and signs the connection in")
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

    @Test("row 46: an unknown address and a wrong password get the same bytes")
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

    @Test("a param that is missing, of another type or unknown is refused by its name")
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

    @Test("on another user's connection it is refused; of the same user it renews")
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

    @Test("a password that came with a Supabase database is taken, and its hash replaced")
    func bcrypt() async throws {
        try await withNode { node in
            // `a password`, as Supabase's auth server hashes it, at a lower cost.
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

    @Test("accounts that another server keeps are not signed in here")
    func external() async throws {
        try await withNode(NodeSettings(accountKeeper: .external)) { node in
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
