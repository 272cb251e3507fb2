import BoundedWait
import Foundation
import Foundations
import TestSupport
import Testing

@Suite("postline chat in line mode", .timeLimit(.minutes(20)))
struct ChatTests {
    private func chat(_ person: Person, _ node: TestNode, password: String = TestNode.password) throws -> Command {
        try Command(["chat", person.email, "--port", "\(node.port)"], environment: ["POSTLINE_PASSWORD": password])
    }

    /// Runs a body with chats of Alice and Bob that show their conversation.
    private func withChats(
        _ node: TestNode, _ body: (_ alice: Command, _ bob: Command) async throws -> Void
    ) async throws {
        let alice = try chat(.alice, node)
        let bob = try chat(.bob, node)
        defer {
            alice.signal(SIGKILL)
            bob.signal(SIGKILL)
        }
        for (chat, other) in [(alice, "bob"), (bob, "alice")] {
            try chat.type("/open \(other)")
            try await chat.waitForOutput("* in “")
        }
        try await body(alice, bob)
    }

    @Test(
        "alice and bob see each other's changes at once, and psql's",
        .covers("F5"))
    func talk() async throws {
        try await withNode { node in
            let alice = try chat(.alice, node)
            let bob = try chat(.bob, node)
            defer {
                alice.signal(SIGKILL)
                bob.signal(SIGKILL)
            }
            try await alice.waitForOutput("* connected as Alice Moreau")
            try await bob.waitForOutput("* connected as Bob Okafor")
            try alice.type("/open bob")
            try await alice.waitForOutput("* in “Bob Okafor”")
            try bob.type("/open alice")
            try await bob.waitForOutput("* in “Alice Moreau”")

            try alice.type("Hello from a pipe")
            try await bob.waitForOutput("Alice Moreau: Hello from a pipe")
            try await alice.waitForOutput("you: Hello from a pipe")
            try bob.type("Hello back \u{1B}[31mred")
            try await alice.waitForOutput("Bob Okafor: Hello back")
            #expect(!alice.output.contains("\u{1B}"))

            try await node.database.psql(
                "update public.user_profiles set full_name = 'Alicia' where username = 'alice'")
            try await bob.waitForOutput("* Alice Moreau is now Alicia")
            try bob.type("/name Robert")
            try await alice.waitForOutput("* Bob Okafor is now Robert")

            try alice.endInput()
            #expect(try await alice.exit() == 0)
            try bob.type("/quit")
            #expect(try await bob.exit() == 0)
        }
    }

    @Test("replies, mentions, reactions and pins reach the other chat")
    func details() async throws {
        try await withNode { node in
            try await withChats(node) { alice, bob in
                try alice.type("Shall we meet?")
                try await bob.waitForOutput("Alice Moreau: Shall we meet?")
                try bob.type("/reply At noon, @alice")
                try await alice.waitForOutput("Bob Okafor: At noon, @alice")
                try await alice.waitForOutput("      > #")
                try alice.type("/thread")
                // Below the message, with its number.
                try await alice.waitForOutput("  Bob Okafor: At noon, @alice")
                try bob.type("/react 👍")
                try await alice.waitForOutput(" has 👍 1: Shall we meet?")
                try alice.type("/pin")
                try await bob.waitForOutput(" is pinned")
                try bob.type("/react 👍")
                try await alice.waitForOutput(" has no reactions: Shall we meet?")
                try bob.type("/unpin")
                try await alice.waitForOutput(" is no longer pinned")
                try alice.type("/archive")
                try await alice.waitForOutput("* “Bob Okafor” is in the archive")
                // The chat shows it before the server has it.
                try await eventually("the archive to be stored") {
                    try await node.database.value(
                        "select count(*) from conversation_mutes where archived_at is not null") == "1"
                }
                try bob.type("@alice, where?")
                try await alice.waitForOutput("* “Bob Okafor” is no longer in the archive")
                #expect(
                    try await node.database.column(
                        "select mentions::text from public.messages where content like '%@alice%' order by seq")
                        == ["{\(Person.alice.id)}", "{\(Person.alice.id)}"])
                for chat in [alice, bob] {
                    try chat.endInput()
                    #expect(try await chat.exit() == 0)
                }
            }
        }
    }

    @Test("sets after what time messages expire, which the other chat says")
    func expires() async throws {
        try await withNode { node in
            try await withChats(node) { alice, bob in
                try alice.type("/expire soon")
                try await alice.waitForOutput("! Usage: /expire 30m, 8h or 7d, or /expire never")
                try alice.type("/expire 7d")
                try await bob.waitForOutput("Messages are deleted after 1 week.")
                try bob.type("/expire never")
                try await alice.waitForOutput("Messages are no longer deleted after a time.")
                for chat in [alice, bob] {
                    try chat.endInput()
                    #expect(try await chat.exit() == 0)
                }
            }
        }
    }

    @Test("blocks and unblocks a person, whose messages in groups are not shown meanwhile")
    func blocks() async throws {
        try await withNode { node in
            try await withChats(node) { alice, bob in
                try alice.type("/block")
                try await alice.waitForOutput("* Neither of you can write to the other now.")
                try alice.type("Never mind")
                try await alice.waitForOutput("! You have blocked Bob Okafor. /unblock lets you write.")
                try bob.type("Hello?")
                try await bob.waitForOutput("! ")
                try bob.type("/open Weekend")
                try await bob.waitForOutput("* in “Weekend in the Alps”")
                try bob.type("Hello, all")
                try await alice.waitForOutput("Bob Okafor: (a message from a blocked user)")
                #expect(!alice.output.contains("Hello, all"))
                try alice.type("/blocked")
                try await alice.waitForOutput("  Bob Okafor  /unblock bob")
                try alice.type("/unblock Zoe")
                try await alice.waitForOutput("! You block nobody called “Zoe”.")
                try alice.type("/unblock bob")
                try await alice.waitForOutput("* They are no longer blocked.")
                try alice.type("/open Weekend")
                try await alice.waitForOutput("Bob Okafor: Hello, all")
                try alice.type("/blocked")
                try await alice.waitForOutput("* you block nobody")
                for chat in [alice, bob] {
                    try chat.endInput()
                    #expect(try await chat.exit() == 0)
                }
            }
        }
    }

    @Test("a file reaches the other chat, which saves it in a folder or by a name, and replaces nothing")
    func files() async throws {
        try await withPictures { node, _ in
            let folder = FileManager.default.temporaryDirectory.appending(path: "postline-chat-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try await withChats(node) { alice, bob in
                let plan = Data(picture(.pdf, bytes: 20_000))
                let path = folder.appending(path: "The plan.pdf").path
                try plan.write(to: URL(filePath: path))
                try alice.type("/file \"\(path)\" Read it")
                try await bob.waitForOutput("Alice Moreau: Read it")
                try await bob.waitForOutput("      [a file, The plan.pdf, 19 KB]")
                try bob.type("/save \"\(folder.path)/copy.pdf\"")
                try await bob.waitForOutput("* Saved as \(folder.path)/copy.pdf.")
                #expect(try Data(contentsOf: folder.appending(path: "copy.pdf")) == plan)
                try bob.type("/save \(folder.path)")
                try await bob.waitForOutput("* Saved as \(folder.path)/2 The plan.pdf.")
                #expect(try Data(contentsOf: folder.appending(path: "2 The plan.pdf")) == plan)
                try bob.type("/save \(folder.path)/copy.pdf")
                try await bob.waitForOutput("! \(folder.path)/copy.pdf exists: choose another name.")
                try alice.type("/file \(folder.path)/missing.pdf")
                try await alice.waitForOutput("! There is no file \(folder.path)/missing.pdf.")
                try alice.type("/image \(folder.path)")
                try await alice.waitForOutput("! \(folder.path) is a folder: choose a file in it.")
                for place in ["\(folder.path)/none/", "\(folder.path)/none/copy.pdf"] {
                    try bob.type("/save \(place)")
                    try await bob.waitForOutput("! There is no folder \(folder.path)/none.")
                }
            }
        }
    }

    @Test("/scheduled lists all messages that wait for their time")
    func scheduled() async throws {
        try await withNode { node in
            try await withChats(node) { alice, _ in
                try alice.type("/later 2d In two days")
                try await alice.waitForOutput("* It is sent at ")
                try alice.type("/later 3h In three hours")
                try await alice.waitForOutput("* It is sent at ")
                try alice.type("/scheduled")
                try await alice.waitForOutput(" · In three hours")
                try await alice.waitForOutput(" · In two days")
            }
        }
    }

    @Test("a script ends after everything that it sends is delivered")
    func script() async throws {
        try await withNode { node in
            let alice = try chat(.alice, node)
            defer { alice.signal(SIGKILL) }
            try alice.type("/open carol\nfirst\nsecond\nthird")
            try alice.endInput()
            #expect(try await alice.exit() == 0)
            #expect(
                try await node.database.column(
                    "select content from public.messages where conversation_id = '\(Room.aliceCarol)' order by seq desc limit 3"
                )
                    == ["third", "second", "first"])
        }
    }

    @Test("reports a lost server, reconnects, and misses nothing")
    func reconnects() async throws {
        try await TestDatabase.with { database in
            // Two nodes in turn on one port, like a restart.
            let port = try await unusedPort()
            let alice = try await withNode(database, NodeSettings(port: port)) { node in
                let alice = try chat(.alice, node)
                try await alice.waitForOutput("* connected as Alice Moreau")
                try alice.type("/open bob")
                try await alice.waitForOutput("* in “Bob Okafor”")
                return alice
            }
            defer { alice.signal(SIGKILL) }
            try await alice.waitForOutput("* offline: ")
            try await database.psql(
                "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', 'while it was away')"
            )
            let before = alice.output.count
            try await withNode(database, NodeSettings(port: port)) { node in
                try await alice.waitForOutput("* connected as Alice Moreau", from: before)
                try await alice.waitForOutput("Bob Okafor: while it was away")
                try await node.signedIn(.bob).send("and now it is back", to: Room.aliceBob)
                try await alice.waitForOutput("Bob Okafor: and now it is back")
                try alice.endInput()
                #expect(try await alice.exit() == 0)
            }
        }
    }

    @Test("reports a wrong password, server, port or missing TLS")
    func refusals() async throws {
        try await withNode { node in
            let wrong = try await Command.run(
                ["chat", "alice@example.com", "--port", "\(node.port)"], environment: ["POSTLINE_PASSWORD": "wrong"])
            #expect(wrong.status == 1)
            #expect(wrong.errors == "postline: The email address or the password is wrong.\n")
            let misled = try await Command.run(
                ["chat", "alice@example.com", "--port", "\(node.httpPort)"], environment: ["POSTLINE_PASSWORD": "x"])
            #expect(misled.status == 1)
            #expect(misled.errors.contains(":\(node.httpPort) speaks HTTP."), "\(misled.errors)")
            for port in [node.port, node.httpPort] {
                let encrypted = try await Command.run(
                    ["chat", "alice@example.com", "--tls", "--port", "\(port)"],
                    environment: ["POSTLINE_PASSWORD": TestNode.password])
                #expect(encrypted.status == 1)
                #expect(
                    encrypted.errors
                        == "postline: The server at 127.0.0.1:\(port) does not speak TLS on that port. "
                        + "Connect without TLS: isEncrypted: false, or no --tls.\n")
            }
        }
        let nowhere = try await Command.run(
            ["chat", "alice@example.com", "--port", "1"], environment: ["POSTLINE_PASSWORD": "x"])
        #expect(nowhere.status == 1)
        #expect(nowhere.errors.contains("No server can be reached at 127.0.0.1:1"))
        let username = try await Command.run(["chat", "alice", "--port", "1"])
        #expect(username.status == 1 && username.errors.contains("“alice” is not an email address"))
    }
}
