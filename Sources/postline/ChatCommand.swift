internal import ArgumentParser
internal import Chat

/// `postline chat`. Not called as the module is, whose name it would hide.
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Talk in the terminal.",
        discussion: """
            Signs in to a running Postline and shows the conversations, live. Without a terminal, or with --plain, it \
            reads commands and texts from standard input and writes what happens as lines. /help lists the commands. \
            With --guest no account is needed: postline chat --guest "Robin Ray".
            """)

    @Argument(help: "The email address to sign in with; with --guest, a name if you like.")
    var who: String?

    @Flag(help: "Sign in as a new guest.")
    var guest = false

    @Option(help: "Where the server is (POSTLINE_HOST; else 127.0.0.1).")
    var host: String?

    @Option(help: "The port of its lines (POSTLINE_PORT; else 7432).")
    var port: Int?

    @Flag(help: "Encrypt the connection (TLS), and verify that the server is the one that was named.")
    var tls = false

    @Option(
        name: .customLong("tls-ca"),
        help: "A PEM file of authorities to trust in place of the system's; with it --tls is understood.",
        completion: .file())
    var tlsAuthorities: String?

    @Option(help: "The password (POSTLINE_PASSWORD; else asked for).")
    var password: String?

    @Option(help: "An access token, in place of email and password.")
    var token: String?

    @Flag(help: "Lines in and out, also in a terminal.")
    var plain = false

    func run() async throws {
        try await Failure.reported {
            let chat = TerminalChat(
                who: who, isGuest: guest, password: password, token: token, host: host, port: port,
                isEncrypted: tls || tlsAuthorities != nil, authorities: tlsAuthorities, isPlain: plain)
            try await chat.run()
        }
    }

    func validate() throws {
        guard guest else { return }
        if password != nil || token != nil {
            throw ValidationError("A guest has no password and no token: leave them out, or --guest.")
        }
        if let who, who.contains("@") {
            throw ValidationError("A guest needs no address: leave \(who) out, or --guest.")
        }
    }
}
