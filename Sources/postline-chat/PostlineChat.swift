import ArgumentParser
import Chat
import SystemPackage

/// `postline chat`.
@main
struct PostlineChat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postline chat",
        abstract: "Talk in the terminal.",
        discussion: """
            Shows the conversations that are kept on this machine at once, signs in to a running Postline, and is live \
            from then on. What is written while the server is away is kept, and sent when it is back. Without a \
            terminal, or with --plain, it reads commands and texts from standard input and writes what happens as \
            lines. /help lists the commands. With --guest no account is needed: postline chat --guest "Robin Ray".

            What is kept of an account is in $XDG_STATE_HOME/postline/chat (else ~/.local/state/postline/chat), for the \
            user alone, until /logout. A guest, and who comes with a token, is kept only where --store says.
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
        help: "A PEM file of authorities to trust instead of the system's. Implies --tls.",
        completion: .file())
    var tlsAuthorities: String?

    @Option(help: "The password (POSTLINE_PASSWORD; else asked for), where nobody is signed in yet.")
    var password: String?

    @Option(help: "An access token, instead of email and password.")
    var token: String?

    @Option(help: "A folder to keep the conversations in, instead of the account's own.", completion: .directory)
    var store: String?

    @Flag(help: "Lines in and out, also in a terminal.")
    var plain = false

    func run() async throws {
        let chat = await TerminalChat(
            who: who, isGuest: guest, password: password, token: token, host: host, port: port,
            isEncrypted: tls || tlsAuthorities != nil, authorities: tlsAuthorities, folder: store, isPlain: plain)
        do {
            try await chat.run()
        } catch let error as ChatEnded {
            // If standard error is closed, the exit code remains.
            _ = try? FileDescriptor.standardError.writeAll("postline: \(error)\n".utf8)
            throw ExitCode.failure
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
