import BoundedWait
import Foundation
import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("postline chat: stored data and offline use", .timeLimit(.minutes(20)))
struct ChatOfflineTests {
    private func chat(
        _ person: Person, port: Int, home: URL, password: String? = TestNode.password, _ options: String...
    ) throws -> Command {
        var environment = ["XDG_STATE_HOME": home.path]
        environment["POSTLINE_PASSWORD"] = password
        return try Command(["chat", person.email, "--port", "\(port)"] + options, environment: environment)
    }

    /// Runs a body with a home directory of its own.
    private func withHome(_ body: (URL) async throws -> Void) async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "postline-chat-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: home) }
        try await body(home)
    }

    @Test(
        "shows stored conversations offline, and sends when connected"
    )
    func offlineStart() async throws {
        try await withHome { home in
            try await TestDatabase.with { database in
                let port = try await withNode(database) { node in
                    let alice = try chat(.alice, port: node.port, home: home)
                    defer { alice.signal(SIGKILL) }
                    try alice.type("/open bob\nsaid yesterday\n/quit")
                    #expect(try await alice.exit() == 0)
                    return node.port
                }
                let offline = try chat(.alice, port: port, home: home, password: nil)
                defer { offline.signal(SIGKILL) }
                try await offline.waitForOutput("Bob Okafor")
                try await offline.waitForOutput("* offline: ")
                try offline.type("/open bob")
                try await offline.waitForOutput("you: said yesterday")
                try offline.type("written without a server\n/search carol")
                try await offline.waitForOutput("! There is no connection to the server just now.")
                try offline.type("/quit")
                #expect(try await offline.exit() == 0)

                let again = try chat(.alice, port: port, home: home, password: nil)
                defer { again.signal(SIGKILL) }
                try await again.waitForOutput("* offline: ")
                try await withNode(database, NodeSettings(port: port)) { _ in
                    try await again.waitForOutput("* connected as Alice Moreau")
                    try again.endInput()
                    #expect(try await again.exit() == 0)
                    #expect(
                        try await database.column(
                            "select count(*) from public.messages where content = 'written without a server'") == ["1"])
                }
            }
        }
    }

    @Test("edits and deletes messages, and makes and leaves groups")
    func messagesAndGroups() async throws {
        try await withNode { node in
            let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: home) }
            let alice = try chat(.alice, port: node.port, home: home)
            let bob = try chat(.bob, port: node.port, home: home)
            defer { for chat in [alice, bob] { chat.signal(SIGKILL) } }
            try await bob.waitForOutput("* connected as Bob Okafor")
            try bob.type("/open alice")
            try await bob.waitForOutput("* in “Alice Moreau”")
            try alice.type("/open bob\nfrist\nsecond")
            try await bob.waitForOutput("Alice Moreau: second")
            try alice.type("/mine")
            let mine = try await alice.waitForOutput("  frist")
            let seq = try #require(
                mine.split(separator: "\n").last { $0.hasSuffix("frist") && $0.contains("#") }?
                    .split(separator: " ").first)
            try alice.type("/edit \(seq) first")
            try await bob.waitForOutput("* Alice Moreau edited \(seq): first")
            try alice.type("/delete")
            try await bob.waitForOutput("* Alice Moreau deleted #")

            try alice.type("/group Alps 2027 with bob, carol")
            try await bob.waitForOutput("* new conversation: Alps 2027")
            try await alice.waitForOutput("* in “Alps 2027”")
            try alice.type("/add Dave Nakamura")
            try await bob.waitForOutput("* Dave Nakamura is now in “Alps 2027”")
            try alice.type("/rename Sea 2027")
            try await bob.waitForOutput("* “Alps 2027” is now “Sea 2027”")
            try alice.type("/role bob admin")
            try await bob.waitForOutput("* You are now admin of “Sea 2027”")
            try bob.type("/open sea\n/remove carol")
            try await alice.waitForOutput("* Carol Jensen is no longer in “Sea 2027”")
            try bob.type("/leave")
            try await bob.waitForOutput("* you are no longer in “Sea 2027”")
            for chat in [alice, bob] {
                try chat.type("/quit")
                #expect(try await chat.exit() == 0)
            }
        }
    }

    @Test("drops a refused username, and retries or drops a refused message")
    func refused() async throws {
        try await withNode { node in
            let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: home) }
            let alice = try chat(.alice, port: node.port, home: home)
            defer { alice.signal(SIGKILL) }
            try alice.type("/username al")
            try await alice.waitForOutput("! \"username\" must be 3 to 30")
            try alice.type("/refused")
            try await alice.waitForOutput("! \"username\" must be 3 to 30", then: "* nothing is refused")
            try await node.database.psql(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin perform app.refuse_forbidden('Not today.'); end $$;
                create trigger refuse before insert on public.messages
                    for each row when (new.content = 'refuse me') execute function public.refuse()
                """)
            try alice.type("/open bob\nrefuse me")
            try await alice.waitForOutput("* /retry 1 tries it again, /discard 1 gives it up")
            let first = alice.output.count
            try alice.type("/retry 1")
            // A second refusal that comes before the chat has shown the retry is not announced.
            try await eventually("the second refusal") {
                let before = alice.output.count
                try alice.type("/refused")
                return try await alice.waitForOutput("\n", from: before).dropFirst(first).contains("  1  ")
            }
            try alice.type("/discard 1\n/refused")
            try await alice.waitForOutput("/discard 1 gives it up", then: "* nothing is refused")
            try alice.type("/quit")
            #expect(try await alice.exit() == 0)
        }
    }

    @Test("reports a second chat with the account, unless in its own folder")
    func twice() async throws {
        try await withHome { home in
            try await withNode { node in
                let first = try chat(.alice, port: node.port, home: home)
                defer { first.signal(SIGKILL) }
                try await first.waitForOutput("* connected as Alice Moreau")
                let second = try chat(.alice, port: node.port, home: home)
                defer { second.signal(SIGKILL) }
                #expect(try await second.exit() == 1)
                #expect(second.errors.contains("postline: Another chat has "))
                let third = try chat(
                    .alice, port: node.port, home: home, "--store", home.appending(path: "other").path)
                let bob = try chat(.bob, port: node.port, home: home)
                defer { for chat in [third, bob] { chat.signal(SIGKILL) } }
                try await third.waitForOutput("* connected as Alice Moreau")
                try await bob.waitForOutput("* connected as Bob Okafor")
                // A killed chat's lock is free.
                first.signal(SIGKILL)
                _ = try await first.exit()
                let fourth = try chat(.alice, port: node.port, home: home, password: nil)
                defer { fourth.signal(SIGKILL) }
                try await fourth.waitForOutput("* connected as Alice Moreau")
            }
        }
    }

    @Test("stored data is private, and removed at sign-out")
    func forgets() async throws {
        try await withHome { home in
            try await withNode { node in
                let folder = home.appending(path: "postline/chat/127.0.0.1_\(node.port)/alice@example.com")
                let alice = try chat(.alice, port: node.port, home: home)
                defer { alice.signal(SIGKILL) }
                try await alice.waitForOutput("* connected as Alice Moreau")
                let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
                #expect(mode == 0o700)
                try alice.type("/logout")
                #expect(try await alice.exit() == 0)
                #expect(!FileManager.default.fileExists(atPath: folder.path))

                let kept = home.appending(path: "guest")
                for store in [nil, kept] {
                    let robin = try Command(
                        ["chat", "--guest", "Robin", "--port", "\(node.port)"]
                            + (store.map { ["--store", $0.path] } ?? []),
                        environment: ["XDG_STATE_HOME": home.path, "TMPDIR": home.path])
                    defer { robin.signal(SIGKILL) }
                    try await robin.waitForOutput("* connected as Robin")
                    try robin.type("/quit")
                    #expect(try await robin.exit() == 0)
                }
                let left = try FileManager.default.contentsOfDirectory(atPath: home.path)
                #expect(Set(left) == ["postline", "guest"])
                let again = try Command(
                    ["chat", "--guest", "--port", "\(node.port)", "--store", kept.path],
                    environment: ["XDG_STATE_HOME": home.path])
                defer { again.signal(SIGKILL) }
                try await again.waitForOutput("* connected as Robin")
            }
        }
    }

    @Test("a password replaces a stored session that has ended")
    func keptSessionIsOver() async throws {
        try await withHome { home in
            try await withNode { node in
                let alice = try chat(.alice, port: node.port, home: home)
                defer { alice.signal(SIGKILL) }
                try await alice.waitForOutput("* connected as Alice Moreau")
                try alice.type("/quit")
                #expect(try await alice.exit() == 0)
                try await node.signedIn(.alice).call("auth.logout", ["all": true])
                let again = try chat(.alice, port: node.port, home: home)
                defer { again.signal(SIGKILL) }
                try await again.waitForOutput("* connected as Alice Moreau")
            }
        }
    }

    @Test("says if the chat's program is missing")
    func missing() async throws {
        let postline = try Command.executable()
        let folder = postline.deletingLastPathComponent().appending(path: "without-chat-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let alone = folder.appending(path: "postline")
        try FileManager.default.linkItem(at: postline, to: alone)
        let run = try await Command.run(["chat", "alice@example.com"], of: alone.path)
        #expect(run.status == 1)
        #expect(run.errors.contains("postline: The chat is a separate program, and \(folder.path)"))
    }

    @Test("an access token signs in for as long as it is valid")
    func token() async throws {
        var settings = NodeSettings()
        settings.accessTokenSeconds = 5
        try await withNode(settings) { node in
            let client = try await node.signedIn(.alice)
            let answer = try await client.call(
                "auth.login", ["email": .string(Person.alice.email), "password": .string(TestNode.password)])
            let token = try #require(answer["access_token"]?.stringValue)
            let alice = try Command(["chat", "--token", token, "--port", "\(node.port)"])
            defer { alice.signal(SIGKILL) }
            try alice.type("/open bob\nby token")
            try await alice.waitForOutput("* connected as Alice Moreau")
            try await alice.waitForOutput("you: by token")
            try await alice.waitForOutput("* ended: The token is no longer valid. Sign in with a fresh one.")
            #expect(try await alice.exit() == 1)
            #expect(
                try await node.database.column("select count(*) from public.messages where content = 'by token'")
                    == ["1"])
        }
    }
}
