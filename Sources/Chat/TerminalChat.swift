import Foundation
import Foundations
import Logging
import Postline

/// The chat on this process's terminal, standard input and standard output.
@MainActor
package struct TerminalChat {
    private let who: String?
    private let isGuest: Bool
    private let password: String?
    private let token: String?
    private let host: String
    private let port: Int
    private let isEncrypted: Bool
    private let authorities: String?
    private let folder: String?
    private let isPlain: Bool

    /// Creates a chat. Missing values are taken from the environment, or asked for on a terminal.
    ///
    /// - Parameters:
    ///   - who: the email address to sign in with, or a guest's name.
    ///   - token: an access token, instead of address and password.
    ///   - isEncrypted: true for TLS.
    ///   - authorities: a PEM file of trusted certificates, or nil for the system's.
    ///   - folder: the folder for its data, or nil for one of the account.
    ///   - isPlain: true for line mode also on a terminal.
    package init(
        who: String?, isGuest: Bool, password: String?, token: String?, host: String?, port: Int?, isEncrypted: Bool,
        authorities: String?, folder: String?, isPlain: Bool
    ) {
        self.who = who
        self.isGuest = isGuest
        self.password = password
        self.token = token
        self.host = host ?? Terminal.environment("POSTLINE_HOST") ?? "127.0.0.1"
        self.port = port ?? Terminal.environment("POSTLINE_PORT").flatMap(Int.init) ?? 7432
        self.isEncrypted = isEncrypted
        self.authorities = authorities
        self.folder = folder
        self.isPlain = isPlain
    }

    /// Signs in if necessary, and runs until the user leaves or the input ends.
    ///
    /// - Throws: `ChatEnded` if it cannot start or continue.
    package func run() async throws {
        let trusted = try trusted()
        let email = isGuest || token != nil ? nil : try email()
        let folder = try folder(of: email)
        defer { if folder.isTemporary { folder.erase() } }
        do {
            let client = try PostlineClient(
                server: .line(host, port: port, isEncrypted: isEncrypted), store: .file(in: folder.url),
                secrets: FileSecretStore(folder: folder.url.appending(path: "secrets")), authorities: trusted,
                logger: Logger(label: "postline.chat") { _ in SwiftLogNoOpLogHandler() })
            var isKept = client.account != .signedOut
            if !isKept { try await signIn(client, email: email) }
            var ending = await talk(client, isTemporary: folder.isTemporary)
            // The stored session has ended, by age or from elsewhere: start over without it.
            while isKept, case .broken(_, wasOnline: false) = ending, client.account == .signedOut {
                isKept = false
                // Line mode has said it.
                if isOnScreen, email != nil { Terminal.write("This session was ended: sign in again.\n") }
                try await signIn(client, email: email)
                ending = await talk(client, isTemporary: folder.isTemporary)
            }
            if client.account == .signedOut, case .left = ending, self.folder == nil { folder.erase() }
            await client.disconnect()
            switch ending {
            case .left(let farewell):
                // Line mode has said it.
                if let farewell { Terminal.write("\(farewell)\n") }
            case .broken(let reason, _):
                throw ChatEnded(description: PlainText.line(reason))
            }
        } catch let error as PostlineError {
            throw ended(by: error)
        }
    }

    private var isOnScreen: Bool { Terminal.isInteractive && !isPlain }

    private func talk(_ client: PostlineClient, isTemporary: Bool) async -> Ending {
        let (events, sink) = AsyncStream.makeStream(of: AppEvent.self)
        let effects = ChatEffects(view: ClientView(client, sink: sink)) { sink.yield(.chat($0)) }
        return isOnScreen
            ? await ScreenChat(
                effects: effects, events: events, sink: sink, address: "\(host):\(port)", isTemporary: isTemporary
            ).run()
            : await LineChat(effects: effects, events: events, sink: sink, isTemporary: isTemporary).run()
    }

    /// Signs in. It asks for a password only after the server has responded, and up to three times if it is wrong.
    private func signIn(_ client: PostlineClient, email: String?) async throws {
        if isGuest { return try await client.signInAsGuest(fullName: who) }
        if let token { return try await client.signIn(accessToken: token) }
        var attempts = 0
        if givenPassword == nil, Terminal.isInteractive { try await client.checkServer() }
        while let email {
            attempts += 1
            let (password, wasTyped) = try self.password(of: email)
            do {
                try await client.signIn(email: email, password: password)
                return
            } catch {
                guard error.code == .invalidCredentials, wasTyped, attempts < 3 else { throw error }
                Terminal.write("\(PlainText.line(error.message))\n")
            }
        }
    }

    private func ended(by error: PostlineError) -> ChatEnded {
        let message = PlainText.line(error.message)
        guard error.code == .offline else { return ChatEnded(description: message) }
        return ChatEnded(
            description: "\(message) Start one with `postline dev`, or name another with --host and --port.")
    }

    /// Returns the trusted certificates as PEM, or nil for the system's.
    private func trusted() throws -> String? {
        guard let authorities else { return nil }
        guard let text = try? String(contentsOfFile: authorities, encoding: .utf8),
            text.contains("-----BEGIN CERTIFICATE-----")
        else { throw ChatEnded(description: "\(authorities) cannot be read as a PEM file of certificates.") }
        return text
    }

    private func folder(of email: String?) throws -> ChatFolder {
        if let folder { return try ChatFolder(at: folder) }
        guard let email else { return try ChatFolder() }
        return try ChatFolder(of: email, at: host, port: port)
    }

    private func email() throws -> String {
        var email = who
        if email == nil, Terminal.isInteractive {
            Terminal.write("Email: ")
            email = readLine()?.trimmed
        }
        guard let email, !email.isEmpty else {
            throw ChatEnded(
                description: "Name the account: postline chat EMAIL, or postline chat --guest.")
        }
        guard email.contains("@") else {
            throw ChatEnded(
                description: "“\(email)” is not an email address: sign in with one, such as alice@example.com.")
        }
        return email
    }

    private var givenPassword: String? { password ?? Terminal.environment("POSTLINE_PASSWORD") }

    private func password(of email: String) throws -> (String, wasTyped: Bool) {
        if let givenPassword { return (givenPassword, false) }
        guard Terminal.isInteractive, let typed = Terminal.readSecret(prompt: "Password: ") else {
            throw ChatEnded(description: "The password is missing: set POSTLINE_PASSWORD or give --password.")
        }
        return (typed, true)
    }
}
