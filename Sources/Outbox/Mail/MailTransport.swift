import AsyncHTTPClient
import Outbound

/// A service that sends mails.
protocol MailTransport: Sendable {
    /// Sends a mail, and returns the outcome.
    func deliver(_ message: MailMessage) async -> MailDelivery

    /// Checks that it would accept a mail, without sending one. Returns nil or the error.
    func check() async -> String?
}

/// The outcome of a mail, with the part that may be logged: neither addresses nor contents.
struct MailDelivery: Sendable {
    let outcome: MailOutcome

    /// A word or number for the log.
    let logged: String

    static func accepted(_ logged: String = "") -> MailDelivery { MailDelivery(outcome: .accepted, logged: logged) }
}

extension MailSettings {
    /// Passes the configured transport to `body`.
    ///
    /// - Parameter written: called with the path of each mail that was written to a folder.
    /// - Throws: `OutboxError` if nothing can be sent, or the error of `body`.
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
                client = try HTTPClient.forProviders(trusting: authorities, connections: Mailer.maxInFlight)
            } catch {
                throw OutboxError("POSTLINE_MAIL_AUTHORITIES_FILE must be a PEM file of certificates: \(error)")
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
