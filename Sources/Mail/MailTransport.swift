internal import AsyncHTTPClient
internal import Messaging
internal import Webhooks

/// One who takes mails.
protocol MailTransport: Sendable {
    /// Gives it a mail, and says what became of it.
    func deliver(_ message: MailMessage) async -> Delivery

    /// Asks whether it would take one, without sending any; nil where it would, else what is wrong.
    func check() async -> String?
}

/// What became of a mail, and what of it may stand in the log, where neither addresses nor contents do.
struct Delivery: Sendable {
    let outcome: MailOutcome

    /// In a word or a number.
    let logged: String

    static func taken(_ logged: String = "") -> Delivery { Delivery(outcome: .taken, logged: logged) }
}

extension MailSettings {
    /// Lets `body` give mails to whoever takes them.
    ///
    /// - Parameter written: is told where each mail is that went to a folder.
    /// - Throws: `MailError` where nothing can be sent, or what `body` throws.
    func withTransport<Value>(
        written: @escaping @Sendable (String) -> Void, _ body: (any MailTransport) async throws -> Value
    ) async throws -> Value {
        switch transport {
        case .smtp(let settings):
            return try await body(SMTPTransport(settings, from: from, authorities: authorities))
        case .folder(let path):
            return try await body(MailFolder(path: path, written: written))
        case .webhook(let url, let secret):
            let client: HTTPClient
            do {
                client = try HTTPClient.toProviders(trusting: authorities, connections: Mailer.maxUnderWay)
            } catch {
                throw MailError("POSTLINE_MAIL_AUTHORITIES_FILE must name certificates (PEM): \(error)")
            }
            let result: Result<Value, any Error>
            do {
                result = .success(
                    try await body(MailWebhook(webhook: SignedWebhook(url: url, secret: secret, client: client))))
            } catch {
                result = .failure(error)
            }
            try await client.shutdown()
            return try result.get()
        }
    }
}
