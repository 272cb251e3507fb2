import Outbox

/// Checks that the mail server or webhook can be reached and accepts this node's mails.
struct MailCheck: Sendable {
    /// The mail settings, or nil if no mail is sent.
    let settings: MailSettings?

    private static let check = "mail"

    func examine(_ report: (Finding) -> Void) async {
        guard let settings else { return }
        if let flaw = await Mailer.check(settings) {
            report(.problem(Self.check, "Mails are not taken: \(flaw.sentenceEnd)", Self.advice(settings.transport)))
        } else {
            report(.ok(Self.check, "Mails are taken."))
        }
    }

    private static func advice(_ transport: MailSettings.Transport) -> String {
        switch transport {
        case .smtp: "See to the settings that begin with POSTLINE_MAIL_SMTP."
        case .webhook: "See to the settings that begin with POSTLINE_MAIL_WEBHOOK."
        case .folder: "Make the folder of POSTLINE_MAIL_DIR for the user that the node runs as, or see that it may."
        }
    }
}
