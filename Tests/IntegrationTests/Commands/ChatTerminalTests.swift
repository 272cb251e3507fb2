import BoundedWait
import Foundation
import Testing

@Suite("postline chat on a terminal", .timeLimit(.minutes(20)))
struct ChatTerminalTests {
    @Test("a revoked session asks for the password, and loses no input")
    func endedSession() async throws {
        let home = FileManager.default.temporaryDirectory.appending(path: "postline-chat-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: home) }
        try await withNode { node in
            let arguments = ["chat", Person.erin.email, "--port", "\(node.port)"]
            let first = try Command(
                arguments, environment: ["XDG_STATE_HOME": home.path, "POSTLINE_PASSWORD": TestNode.password])
            defer { first.signal(SIGKILL) }
            try await first.waitForOutput("* connected as Erin")
            try first.type("/quit")
            #expect(try await first.exit() == 0)
            let ended = try await Command.run(
                ["admin", "end-sessions", "erin"],
                environment: ["POSTLINE_ADMIN_DATABASE_URL": node.database.adminURL])
            #expect(ended.status == 0, "\(ended.errors)")

            let chat = try terminal(arguments, ["XDG_STATE_HOME": home.path, "TERM": "xterm"])
            defer { chat.signal(SIGKILL) }
            try await chat.waitForOutput("This session was ended: sign in again.\r\nPassword: ")
            try chat.type("wrong")
            try await chat.waitForOutput("The email address or the password is wrong.\r\nPassword: ")
            let asked = chat.output.count
            try chat.type(TestNode.password)
            // The screen is drawn again, with the conversations.
            try await chat.waitForOutput("Alice Moreau", from: asked)
            try chat.type("/open alice\rEvery key of this is mine.\r")
            try await node.waitForMessage("'Every key of this is mine.'")
            // The chat asks before it leaves with a message that the server has not answered.
            try await chat.waitForOutput("Every key of this is mine.", then: "✓")
            // The last line feed begins another line.
            try chat.type("\u{7F}/quit\r")
            #expect(try await chat.exit() == 0)
        }
    }

    @Test("sends text typed at the start once a conversation is open")
    func typedAtStart() async throws {
        try await withNode { node in
            let chat = try signedIn(.erin, node)
            defer { chat.signal(SIGKILL) }
            try await chat.waitForOutput("Alice Moreau")
            try chat.press("quick question\r")
            try await chat.waitForOutput("No conversation is open:")
            try chat.press("/open alice\r")
            try await chat.waitForOutput("quick question", then: "Enter sends")
            try chat.press("\r")
            try await node.waitForMessage("'quick question'")
            try await chat.waitForOutput("quick question", then: "✓")
            try chat.press("/quit\r")
            #expect(try await chat.exit() == 0)
        }
    }

    @Test("Tab completes, and pasted text keeps its line breaks")
    func completionAndPaste() async throws {
        try await withNode { node in
            let chat = try signedIn(.erin, node)
            defer { chat.signal(SIGKILL) }
            try await chat.waitForOutput("Alice Moreau")
            try chat.press("/op\tal\t")
            try await chat.waitForOutput("/open Alice Moreau")
            try chat.press("\r")
            try await chat.waitForOutput("Enter sends")
            try chat.press("\u{1B}[200~one\r\ntwo\u{1B}[201~\u{1B}\rthree")
            try await chat.waitForOutput(" › \u{1B}[0mone", then: "   \u{1B}[0mthree")
            try chat.press("\r")
            try await node.waitForMessage("E'one\\ntwo\\nthree'")
            try chat.press("/username al\r")
            try await chat.waitForOutput("\"username\" must be 3 to 30")
            try chat.press("/quit\r")
            #expect(try await chat.exit() == 0)
            #expect(!chat.output.contains("1 refused"))
        }
    }

    @Test("reports an unusable server before asking for the password")
    func serverCheck() async throws {
        try await withNode { node in
            for (options, reason) in [
                (["--port", "1"], "No server can be reached at 127.0.0.1:1."),
                (["--port", "\(node.httpPort)"], "speaks HTTP."),
                (["--port", "\(node.port)", "--tls"], "does not speak TLS"),
            ] {
                let chat = try terminal(["chat", Person.erin.email] + options, ["TERM": "xterm"])
                defer { chat.signal(SIGKILL) }
                try await chat.waitForOutput(reason)
                #expect(try await chat.exit() == 1)
                #expect(!chat.output.contains("Password"))
            }
            let chat = try terminal(["chat", Person.erin.email, "--port", "\(node.port)"], ["TERM": "xterm"])
            defer { chat.signal(SIGKILL) }
            try await chat.waitForOutput("Password: ")
        }
    }

    private func signedIn(_ person: Person, _ node: TestNode) throws -> Command {
        try terminal(
            ["chat", person.email, "--port", "\(node.port)"],
            ["POSTLINE_PASSWORD": TestNode.password, "TERM": "xterm"])
    }

    /// Starts the program on a terminal. The command's input is the keys, its output the screen.
    private func terminal(_ arguments: [String], _ environment: [String: String]) throws -> Command {
        let spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
        return try Command(
            ["python3", "-c", spawn, try Command.executable().path] + arguments, of: "/usr/bin/env",
            environment: environment)
    }
}

extension TestNode {
    /// Waits until one message has a content. A mark on a chat's screen may be another message's.
    ///
    /// - Parameter content: an SQL literal.
    fileprivate func waitForMessage(_ content: String) async throws {
        try await eventually("the message \(content) to be stored") {
            try await database.value("select count(*) from messages where content = \(content)") == "1"
        }
    }
}
