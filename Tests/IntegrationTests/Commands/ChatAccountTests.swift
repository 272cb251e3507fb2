import Foundation
import LineClient
import Testing
@testable import WireProtocol

@Suite("postline chat: account commands in line mode", .timeLimit(.minutes(20)))
struct ChatAccountTests {
    private func guest(on node: TestNode, name: String? = "Robin Ray") throws -> Command {
        try Command(["chat", "--guest", "--port", "\(node.port)"] + (name.map { [$0] } ?? []))
    }

    private func chat(_ email: String, on node: TestNode, password: String = TestNode.password) throws -> Command {
        try Command(["chat", email, "--port", "\(node.port)"], environment: ["POSTLINE_PASSWORD": password])
    }

    /// Types a command that prompts, and each answer after its prompt.
    private func answer(_ chat: Command, _ command: String, _ answers: String...) async throws {
        var from = chat.output.count
        try chat.type(command)
        for answer in answers {
            try await chat.waitForOutput("? ", from: from)
            from = chat.output.count
            try chat.type(answer)
        }
    }

    @Test("a guest talks, upgrades with an address, and signs in again")
    func upgrade() async throws {
        try await withNode { node in
            let robin = try guest(on: node)
            let bob = try chat(Person.bob.email, on: node)
            defer { for chat in [robin, bob] { chat.signal(SIGKILL) } }
            try await robin.waitForOutput("* connected as Robin Ray\n* You are a guest")
            try await bob.waitForOutput("* connected as Bob Okafor")
            try robin.type("/open bob\nHello from a guest")
            try await bob.waitForOutput("[Robin Ray] Robin Ray: Hello from a guest")

            try await answer(robin, "/upgrade Robin@Example.com", "a password", "another one")
            try await robin.waitForOutput("! The two passwords are not the same.")
            try await answer(robin, "/upgrade alice@example.com", "a password", "a password")
            try await robin.waitForOutput("! This email address already has an account.")
            try await answer(robin, "/upgrade Robin@Example.com", "a password", "a password")
            try await robin.waitForOutput("* This account is yours now.")
            try robin.type("/me")
            try await robin.waitForOutput("  account       robin@example.com\n")
            #expect(!robin.output.contains("a password\n"))
            try robin.type("still the same connection")
            try await bob.waitForOutput("Robin Ray: still the same connection")
            try robin.type("/quit")
            #expect(try await robin.exit() == 0)

            let again = try chat("robin@example.com", on: node, password: "a password")
            defer { again.signal(SIGKILL) }
            try await again.waitForOutput("* connected as Robin Ray")
            try await again.waitForOutput("still the same connection")
            #expect(!again.output.contains("guest:"))
        }
    }

    @Test("a guest merges into an account, unless the password is wrong")
    func merge() async throws {
        try await withNode { node in
            let robin = try guest(on: node, name: nil)
            defer { robin.signal(SIGKILL) }
            try await robin.waitForOutput("* connected as (guest)")
            try robin.type("/open dave\nfrom a guest\n/username robin")
            try await robin.waitForOutput("* You are now @robin.")
            try await answer(robin, "/login alice@example.com", "wrong")
            try await robin.waitForOutput("! The email address or the password is wrong.")
            try robin.type("still a guest")
            try await robin.waitForOutput("you: still a guest")
            try await answer(robin, "/login alice@example.com", TestNode.password)
            try await robin.waitForOutput("* connected as Alice Moreau")
            try await robin.waitForOutput(
                "* You are signed in as alice@example.com. With you came 1 conversation and 2 messages.")
            let before = robin.output.count
            try robin.type("/open dave")
            try await robin.waitForOutput("* in “Dave Nakamura”", from: before)
            try robin.type("now as Alice")
            let dave = try await node.signedIn(.dave)
            try await dave.sync()
            try await dave.follow("all three") { state in
                state.messages.values.flatMap(\.values).filter { $0["sender_id"] == .string(Person.alice.id) }
                    .compactMap { $0["content"]?.stringValue }.filter { $0.contains("guest") || $0 == "now as Alice" }
                    .count == 3
            }
            #expect(!robin.output.contains("* offline"))
            try robin.type("/quit")
            #expect(try await robin.exit() == 0)
        }
    }

    @Test("a new name, username and avatar reach the other chat at once")
    func profile() async throws {
        try await withNode { node in
            let alice = try chat(Person.alice.email, on: node)
            let bob = try chat(Person.bob.email, on: node)
            defer { for chat in [alice, bob] { chat.signal(SIGKILL) } }
            try await bob.waitForOutput("* connected as Bob Okafor")
            // One at a time: quick changes may arrive as one.
            for (command, news) in [
                ("/name Alice Martin", "* Alice Moreau is now Alice Martin\n"),
                ("/username Alice.M", "* Alice Martin is now @alice.m\n"),
                ("/avatar Owl", "* Alice Martin has a new avatar\n"),
                ("/avatar none", "* Alice Martin has no avatar now\n"),
            ] {
                try alice.type(command)
                try await bob.waitForOutput(news)
            }
            try await alice.waitForOutput("* You are now @alice.m; it can be changed again from ")
            try alice.type(
                "/username alicia\n/username bob\n/avatar cat\n/avatar http://example.com/a.png\n/name \u{202E}x")
            try await alice.waitForOutput(
                "! A username can be changed once in 90 days. Yours can be changed again from ")
            try await alice.waitForOutput("! There is no such built-in avatar.")
            try await alice.waitForOutput("avatar_url\" must be an https address")
            try await alice.waitForOutput(
                "! A name cannot contain control or text-direction characters, line separators")
            try alice.type("/avatar")
            try await alice.waitForOutput("Orange circle   /avatar orange_circle")
            try alice.type("/bio Maps.\n/me")
            try await alice.waitForOutput("  bio           Maps.\n")
            try await alice.waitForOutput("  username      alice.m\n")
            try alice.endInput()
            #expect(try await alice.exit() == 0)
        }
    }

    @Test("reports a session that is revoked elsewhere, and ends")
    func revoked() async throws {
        try await withNode { node in
            let alice = try chat(Person.alice.email, on: node)
            defer { alice.signal(SIGKILL) }
            try await alice.waitForOutput("* connected as Alice Moreau")
            try await node.signedIn(.alice).call("auth.logout", ["all": true])
            try await alice.waitForOutput("* ended: This session was ended from elsewhere")
            #expect(try await alice.exit() == 1)
            #expect(alice.errors.contains("postline: This session was ended from elsewhere"))
            #expect(!alice.output.contains("* offline"))
        }
    }

    @Test("signing out exits with success and ends the session")
    func logout() async throws {
        try await withNode { node in
            let alice = try chat(Person.alice.email, on: node)
            defer { alice.signal(SIGKILL) }
            try alice.type("/logout")
            try await alice.waitForOutput("* You are signed out.")
            #expect(try await alice.exit() == 0)
            #expect(
                try await node.database.column("select count(*) from app.sessions where revoked_at is null") == ["0"])
        }
    }

    @Test("a new password ends other sessions; deletion ends the account")
    func passwordAndDeletion() async throws {
        try await withNode { node in
            let alice = try chat(Person.alice.email, on: node)
            let other = try chat(Person.alice.email, on: node)
            defer { for chat in [alice, other] { chat.signal(SIGKILL) } }
            try await other.waitForOutput("* connected as Alice Moreau")
            try await answer(alice, "/password", TestNode.password, "new password", "new password")
            try await alice.waitForOutput("* Your password is changed. Signed out elsewhere: 1 session.")
            try await other.waitForOutput("* ended: This session was ended from elsewhere")
            #expect(try await other.exit() == 1)
            try await answer(alice, "/delete-account", TestNode.password)
            try await alice.waitForOutput("! The password is wrong.")
            try await answer(alice, "/delete-account", "new password")
            try await alice.waitForOutput("* Your account is deleted.")
            #expect(try await alice.exit() == 0)
            let gone = try await Command.run(
                ["chat", Person.alice.email, "--port", "\(node.port)"],
                environment: ["POSTLINE_PASSWORD": "new password"])
            #expect(gone.errors == "postline: The email address or the password is wrong.\n")
        }
    }

    @Test("renews tokens before they expire, without reconnecting")
    func renewal() async throws {
        var settings = NodeSettings()
        settings.accessTokenSeconds = 8
        try await withNode(settings) { node in
            let robin = try guest(on: node)
            defer { robin.signal(SIGKILL) }
            try await robin.waitForOutput("* connected as Robin Ray")
            // A later session that is not renewed: when it ends, the chat's first token has expired too.
            let witness = try await node.signedIn(.bob)
            while try await witness.nextNotification().method != "server.goodbye" {}
            try robin.type("/open bob\nstill here")
            try await robin.waitForOutput("you: still here")
            #expect(!robin.output.contains("* offline"))
            #expect(
                try await node.database.column(
                    "select generation > 0 from app.sessions s join public.user_profiles p on p.id = s.user_id where is_guest"
                ) == ["t"])
        }
    }

    @Test("a guest keeps its account after a server outage")
    func reconnects() async throws {
        try await TestDatabase.with { database in
            var settings = NodeSettings()
            settings.accessTokenSeconds = 1
            settings.port = try await unusedPort()
            let robin = try await withNode(database, settings) { node in
                let robin = try guest(on: node)
                try await robin.waitForOutput("* connected as Robin Ray")
                return robin
            }
            defer { robin.signal(SIGKILL) }
            try await robin.waitForOutput("* offline: ")
            let before = robin.output.count
            try await withNode(database, settings) { _ in
                try await robin.waitForOutput("* connected as Robin Ray", from: before)
                #expect(
                    try await database.column("select count(*) from public.user_profiles where is_guest") == ["1"])
                try robin.type("/quit")
                #expect(try await robin.exit() == 0)
            }
        }
    }

    @Test("rejects a guest with an address or a password")
    func contradictions() async throws {
        for arguments in [["robin@example.com"], ["--password", "x"], ["--token", "x"]] {
            let run = try await Command.run(["chat", "--guest"] + arguments)
            #expect(run.status == 64)
            #expect(run.errors.contains("A guest "))
        }
    }
}
