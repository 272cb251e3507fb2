import FoundationEssentials
import Concurrency

/// A mail server (RFC 5321), accessed by libcurl.
struct SMTPTransport: MailTransport {
    private let settings: MailSettings.SMTP
    private let from: MailAddress
    private let authorities: String?

    init(_ settings: MailSettings.SMTP, from: MailAddress, authorities: String?) {
        self.settings = settings
        self.from = from
        self.authorities = authorities
    }

    func deliver(_ message: MailMessage) async -> MailDelivery {
        guard let address = MailAddress(message.order.email) else { return .unusableAddress }
        let bytes = message.bytes(to: address, at: Date())
        let letter = CurlSMTP.Letter(from: from.address, to: address.address, bytes: bytes)
        switch await response(to: letter) {
        case .success: return .accepted()
        case .failure(let failure): return Self.delivery(failure)
        }
    }

    func check() async -> String? {
        guard case .failure(let failure) = await response(to: nil) else { return nil }
        return failure.description
    }

    private func response(to letter: CurlSMTP.Letter?) async -> Result<Void, CurlSMTP.Failure> {
        do {
            return try await DetachedThread.value(name: "mail") { [settings, from, authorities] in
                CurlSMTP.perform(letter, settings, from: from, authorities: authorities)
            }
        } catch {
            return .failure(CurlSMTP.Failure(reply: 0, stage: .connection, description: "\(error)"))
        }
    }

    /// Returns the outcome of a failure. A 5xx reply about this mail is final; refusals of this node or of all mails
    /// are for the operator to fix.
    static func delivery(_ failure: CurlSMTP.Failure) -> MailDelivery {
        let logged = failure.reply > 0 ? "\(failure.reply)" : failure.stage.rawValue
        switch (failure.stage, failure.reply) {
        case (.mail, 500...599): return .rejected(failure.description, logged: logged)
        case (.mail, _), (.connection, _): return .deferred(failure.description, logged: logged)
        case (.setup, _): return .deferred(failure.description, after: .seconds(60), logged: logged)
        }
    }
}
