internal import ArgumentParser
internal import LineClient
internal import Messaging

/// `postline chat`.
struct Chat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
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
        let host = host ?? Terminal.environment("POSTLINE_HOST") ?? "127.0.0.1"
        let port = port ?? Terminal.environment("POSTLINE_PORT").flatMap(Int.init) ?? 7432
        let (events, sink) = AsyncStream.makeStream(of: AppEvent.self)
        let report: @Sendable (ChatEvent) -> Void = { sink.yield(.chat($0)) }
        let link = try await signedIn(host: host, port: port, trust: try trust(), report)
        let effects = ChatEffects(link: link, report: report)
        let ending =
            Terminal.isInteractive && !plain
            ? await ScreenChat(effects: effects, events: events, sink: sink, address: "\(host):\(port)").run()
            : await LineChat(effects: effects, events: events, sink: sink).run()
        switch ending {
        case .left(let farewell):
            // Line mode has said it.
            if let farewell { Terminal.write("\(farewell)\n") }
        case .broken(let reason):
            throw Failure.say(PlainText.line(reason), .failure)
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

    /// Asks for what is missing, and again where the password was wrong and a person typed it.
    private func signedIn(
        host: String, port: Int, trust: ServerTrust?, _ report: @escaping @Sendable (ChatEvent) -> Void
    ) async throws -> ServerLink {
        var attempts = 0
        while true {
            attempts += 1
            let (credentials, wasTyped) = try credentials()
            let link = ServerLink(host: host, port: port, trust: trust, credentials: credentials, report: report)
            do {
                try await link.signIn()
                return link
            } catch let error as RemoteError {
                if error.knownCode == .invalidCredentials, wasTyped, attempts < 3 {
                    Terminal.write("\(PlainText.line(error.message))\n")
                    continue
                }
                throw Failure.say(PlainText.line(error.message), .failure)
            } catch let error as ConnectionError {
                if case .unreachable = error {
                    throw Failure.say(
                        "\(error) Start one with `postline dev`, or name another with --host and --port.", .failure)
                }
                throw Failure.say(PlainText.line("\(error)"), .failure)
            } catch let error as ChatEnded {
                throw Failure.say(PlainText.line("\(error)"), .failure)
            }
        }
    }

    /// Whom to trust over TLS; nil where it is not wanted.
    private func trust() throws -> ServerTrust? {
        guard tls || tlsAuthorities != nil else { return nil }
        do {
            return try ServerTrust(authorities: tlsAuthorities)
        } catch {
            throw Failure.say("\(error).", .failure)
        }
    }

    private func credentials() throws -> (Credentials, wasTyped: Bool) {
        if guest { return (.guest(name: who), false) }
        if let token { return (.token(token), false) }
        let isAsking = Terminal.isInteractive
        var email = who
        if email == nil, isAsking {
            Terminal.write("Email: ")
            email = readLine()?.trimmed
        }
        guard let email, !email.isEmpty else {
            throw Failure.say("Whom to sign in is not said: postline chat EMAIL, or postline chat --guest.", .failure)
        }
        if let password = password ?? Terminal.environment("POSTLINE_PASSWORD") {
            return (.password(email: email, password: password), false)
        }
        guard isAsking, let typed = Terminal.readSecret(prompt: "Password: ") else {
            throw Failure.say("The password is missing: set POSTLINE_PASSWORD or give --password.", .failure)
        }
        return (.password(email: email, password: typed), true)
    }
}
