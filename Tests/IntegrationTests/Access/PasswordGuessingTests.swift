import Accounts
import LineClient
import Messaging
import Testing
import WireProtocol

@Suite("Password guessing", .timeLimit(.minutes(20)))
struct PasswordGuessingTests {
    private static let limited = NodeSettings(rates: .withoutRefill)

    private static func login(_ email: String, _ password: String = "wrong") -> JSONObject {
        ["email": .string(email), "password": .string(password)]
    }

    @Test("row 47: limits an account after five wrong passwords")
    func perAccount() async throws {
        try await withNode(Self.limited) { node in
            for email in ["alice@example.com", "nobody@example.com"] {
                for _ in 0..<5 {
                    try await node.connect().refused(.invalidCredentials, "auth.login", Self.login(email))
                }
                // In any spelling, from any connection.
                for spelling in [email, email.uppercased(), email] {
                    let error = try await node.connect().refused(
                        .rateLimited, "auth.login", Self.login(spelling, TestNode.password))
                    #expect(1...60 ~= (error?.data["retry_after"]?.integerValue ?? 0))
                }
            }
            // Another account is not affected.
            try await node.connect().signIn(.bob)
        }
    }

    @Test("row 47: counts an address with blanks as the same account")
    func spellings() async throws {
        try await withNode(Self.limited) { node in
            let client = try await node.connect()
            for email in [" alice@example.com", "alice@example.com ", "  alice@example.com"] {
                try await client.refused(.invalidCredentials, "auth.login", Self.login(email, TestNode.password))
            }
        }
    }

    @Test("row 47: counts wrong passwords, signed in or not, but no right ones")
    func counted() async throws {
        try await withNode(Self.limited) { node in
            for _ in 0..<8 { try await node.connect().signIn(.alice) }
            let bob = try await node.signedIn(.bob)
            for _ in 0..<3 {
                try await bob.refused(
                    .invalidCredentials, "auth.change_password",
                    ["current_password": "wrong", "new_password": "another password"])
            }
            for _ in 0..<2 { try await bob.refused(.invalidCredentials, "me.delete", ["password": "wrong"]) }
            try await bob.refused(.rateLimited, "me.delete", ["password": .string(TestNode.password)])
            try await bob.refused(
                .rateLimited, "auth.change_password",
                ["current_password": .string(TestNode.password), "new_password": "another password"])
            #expect(try await bob.call("me.get")["is_deleted"] == false)
        }
    }

    @Test("row 47: other clients cannot exhaust a session's password checks")
    func notByStrangers() async throws {
        try await withNode(Self.limited) { node in
            let alice = try await node.signedIn(.alice)
            let stolen = try await node.signedIn(.alice)
            let guest = try await node.guest()
            let stranger = try await node.connect()
            // Ids are public, and anyone may know an address.
            for email in [Person.alice.id, await guest.userID, Person.alice.email] {
                for _ in 0..<5 { try await stranger.refused(.invalidCredentials, "auth.login", Self.login(email)) }
                try await stranger.refused(.rateLimited, "auth.login", Self.login(email))
            }
            for _ in 0..<5 {
                try await stolen.refused(.invalidCredentials, "me.delete", ["password": "wrong"])
            }
            try await stolen.refused(.rateLimited, "me.delete", ["password": .string(TestNode.password)])
            #expect(
                try await alice.call(
                    "auth.change_password",
                    ["current_password": .string(TestNode.password), "new_password": "another password"])
                    == ["revoked": 1])
            #expect(try await guest.call("me.delete") == ["deleted": true])
            #expect(try await alice.call("me.delete", ["password": "another password"]) == ["deleted": true])
        }
    }

    @Test("row 47: limits a session to five password checks a minute")
    func checks() async throws {
        try await withNode(Self.limited) { node in
            let alice = try await node.signedIn(.alice)
            for _ in 0..<5 {
                try await alice.call(
                    "auth.change_password",
                    ["current_password": .string(TestNode.password), "new_password": .string(TestNode.password)])
            }
            try await alice.refused(
                .rateLimited, "auth.change_password",
                ["current_password": .string(TestNode.password), "new_password": "another password"])
        }
    }

    @Test("row 47: verifies imported passwords without delaying other requests")
    func importedHashing() async throws {
        var settings = NodeSettings()
        settings.poolSize = 1
        try await withNode(settings) { node in
            // Imported hashes, each of which takes a good part of a second.
            try await node.database.psql(
                """
                update auth.users set encrypted_password = '$2a$13$x0KtZpjz09fEGmuQ8Nique5xYlzCtPkk9jMeobPzv.RteAWkcw1Ue'
                 where id = '\(Person.bob.id)'
                """)
            let alice = try await node.signedIn(.alice)
            let answered = ResponseCounter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<6 {
                    let client = try await node.connect()
                    group.addTask {
                        try await client.refused(.invalidCredentials, "auth.login", Self.login(Person.bob.email))
                        await answered.add()
                    }
                }
                for _ in 0..<20 { try await alice.call("me.get") }
                #expect(await answered.count < 6)
                try await group.waitForAll()
            }
        }
    }

    @Test(
        "row 47: limits sign-ins and registrations of an address to 60 a minute"
    )
    func perAddress() async throws {
        try await withNode(Self.limited) { node in
            let guest = try await node.guest()
            let client = try await node.connect()
            // Refused for its username, after the limit and before hashing.
            #expect(try await Self.triesUntilLimited(client, "auth.guest", ["full_name": " "]) == 59)
            let account: JSONObject = ["email": "new@example.com", "password": .string(TestNode.password)]
            for (client, method, params) in [
                (client, "auth.login", Self.login("nobody@example.com")), (client, "auth.guest", ["full_name": " "]),
                (client, "auth.register", JSONObject(account.members + [.init(name: "full_name", value: " ")])),
                (guest, "auth.upgrade", ["email": .string(Person.alice.email), "password": "postline-dev"]),
            ] as [(TestClient, String, JSONObject)] {
                #expect(try await Self.triesUntilLimited(client, method, params) == 0, "\(method)")
            }
            #expect(try await guest.call("me.get")["is_guest"] == true)
        }
    }

    /// Returns the number of calls before the first that the address's limit refuses.
    private static func triesUntilLimited(
        _ client: TestClient, _ method: String, _ params: JSONObject
    ) async throws -> Int {
        for tries in 0..<1_000 {
            do {
                try await client.call(method, params)
            } catch let error as RemoteError where error.knownCode == .rateLimited {
                #expect((error.data["retry_after"]?.integerValue ?? 0) >= 1)
                return tries
            } catch is RemoteError {
                continue
            }
        }
        return 1_000
    }

    @Test("limits sends, changes and searches of one user only")
    func perUser() async throws {
        var rates = Rates.withoutRefill
        (rates.sendsPerSecond, rates.sendBurst, rates.searchesPerSecond) = (1, 10, 1)
        try await withNode(NodeSettings(rates: rates)) { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let message: JSONObject = ["conversation_id": .string(Room.aliceBob), "content": "again"]
            for (method, params, burst) in [
                ("messages.send", message, 10), ("me.update", ["bio": "again"], 1),
                ("profiles.search", ["query": "bob"], 1),
            ] as [(String, JSONObject, Int)] {
                #expect(try await Self.triesUntilLimited(alice, method, params) == burst, "\(method)")
                try await bob.call(method, params)
            }
            // Both kinds of searches count together.
            try await alice.refused(.rateLimited, "messages.search", ["query": "bob"])
        }
    }

    @Test("row 47: answers 100 concurrent sign-ins without delaying other requests")
    func boundedHashing() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            async let answers = concurrentOutcomes(0..<100) { number in
                try await node.connect().call("auth.login", Self.login("\(number)@example.com"))
            }
            for _ in 0..<20 { try await alice.call("me.get") }
            let outcomes = try await answers
            #expect(Set(outcomes).isSubset(of: ["invalid_credentials", "rate_limited"]))
            #expect(outcomes.count { $0 == "invalid_credentials" } >= 64)
        }
    }
}

private actor ResponseCounter {
    private(set) var count = 0

    func add() { count += 1 }
}
