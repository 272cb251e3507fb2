internal import LineClient
internal import Messaging
internal import TerminalText

/// The chat of one person, on this process's terminal, standard input and standard output.
package struct TerminalChat: Sendable {
    private let who: String?
    private let isGuest: Bool
    private let password: String?
    private let token: String?
    private let host: String?
    private let port: Int?
    private let isEncrypted: Bool
    private let authorities: String?
    private let isPlain: Bool

    /// Takes what was given; of what is nil it looks at the environment, and asks a person who is there.
    ///
    /// - Parameters:
    ///   - who: the email address to sign in with; a guest's name, if it has one.
    ///   - token: an access token, in place of address and password.
    ///   - isEncrypted: whether lines go over TLS.
    ///   - authorities: a PEM file of authorities to trust over TLS; nil: the system's.
    ///   - isPlain: whether it is lines also in a terminal.
    package init(
        who: String?, isGuest: Bool, password: String?, token: String?, host: String?, port: Int?, isEncrypted: Bool,
        authorities: String?, isPlain: Bool
    ) {
        self.who = who
        self.isGuest = isGuest
        self.password = password
        self.token = token
        self.host = host
        self.port = port
        self.isEncrypted = isEncrypted
        self.authorities = authorities
        self.isPlain = isPlain
    }

    /// Signs in, and runs until the person leaves or the input ends.
    ///
    /// - Throws: `ChatEnded` where it cannot begin, or not go on.
    package func run() async throws {
        let host = host ?? Terminal.environment("POSTLINE_HOST") ?? "127.0.0.1"
        let port = port ?? Terminal.environment("POSTLINE_PORT").flatMap(Int.init) ?? 7432
        let (events, sink) = AsyncStream.makeStream(of: AppEvent.self)
        let report: @Sendable (ChatEvent) -> Void = { sink.yield(.chat($0)) }
        let link = try await signedIn(host: host, port: port, trust: try trust(), report)
        let effects = ChatEffects(link: link, report: report)
        let ending =
            Terminal.isInteractive && !isPlain
            ? await ScreenChat(effects: effects, events: events, sink: sink, address: "\(host):\(port)").run()
            : await LineChat(effects: effects, events: events, sink: sink).run()
        switch ending {
        case .left(let farewell):
            // Line mode has said it.
            if let farewell { Terminal.write("\(farewell)\n") }
        case .broken(let reason):
            throw ChatEnded(description: PlainText.line(reason))
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
                throw ChatEnded(description: PlainText.line(error.message))
            } catch let error as ConnectionError {
                if case .unreachable = error {
                    throw ChatEnded(
                        description:
                            "\(error) Start one with `postline dev`, or name another with --host and --port.")
                }
                throw ChatEnded(description: PlainText.line("\(error)"))
            } catch let error as ChatEnded {
                throw ChatEnded(description: PlainText.line("\(error)"))
            }
        }
    }

    /// Whom to trust over TLS; nil where it is not wanted.
    private func trust() throws -> ServerTrust? {
        guard isEncrypted else { return nil }
        do {
            return try ServerTrust(authorities: authorities)
        } catch {
            throw ChatEnded(description: "\(error).")
        }
    }

    private func credentials() throws -> (Credentials, wasTyped: Bool) {
        if isGuest { return (.guest(name: who), false) }
        if let token { return (.token(token), false) }
        let isAsking = Terminal.isInteractive
        var email = who
        if email == nil, isAsking {
            Terminal.write("Email: ")
            email = readLine()?.trimmed
        }
        guard let email, !email.isEmpty else {
            throw ChatEnded(
                description: "Whom to sign in is not said: postline chat EMAIL, or postline chat --guest.")
        }
        if let password = password ?? Terminal.environment("POSTLINE_PASSWORD") {
            return (.password(email: email, password: password), false)
        }
        guard isAsking, let typed = Terminal.readSecret(prompt: "Password: ") else {
            throw ChatEnded(description: "The password is missing: set POSTLINE_PASSWORD or give --password.")
        }
        return (.password(email: email, password: typed), true)
    }
}
