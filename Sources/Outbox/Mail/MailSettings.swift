import FoundationEssentials

/// The configuration of mail (`docs/accounts.md`).
package struct MailSettings: Sendable {
    package var transport: Transport
    package var from: MailAddress

    /// The link in mails, or its template with `{token}` and `{kind}`; nil for mails with only the token.
    package var link: String?
    package var texts = MailTexts()

    /// A file of additional trusted certificates (PEM), or nil.
    package var authorities: String?

    package init(_ transport: Transport, from: MailAddress) {
        self.transport = transport
        self.from = from
    }

    /// The way mails are sent.
    package enum Transport: Sendable {
        case smtp(SMTP)
        /// A server of the operator.
        case webhook(url: String, secret: String)
        /// A folder with a file per mail.
        case folder(String)
    }

    /// A mail server.
    package struct SMTP: Sendable {
        let url: String
        let needsTLS: Bool

        /// The user name, or nil for no sign-in.
        let user: String?
        let password: String?

        /// - Parameters:
        ///   - url: `smtp://host:port` or `smtps://host:port`, without a path.
        ///   - needsTLS: true to refuse servers without encryption (STARTTLS).
        package init(url: String, needsTLS: Bool = true, user: String? = nil, password: String? = nil) {
            self.url = url
            self.needsTLS = needsTLS
            self.user = user
            self.password = password
        }
    }

    /// Returns the mail of an order, in the user's language.
    func message(_ order: MailOrder) -> MailMessage {
        let link = order.token.flatMap { page(for: $0, order.kind) }
        let text = texts.text(of: order, app: from.name ?? from.domain, link: link ?? order.token)
        return MailMessage(order: order, from: from, subject: text.subject, text: text.body, link: link)
    }

    /// The token is in the fragment, which browsers do not send.
    private func page(for token: String, _ kind: MailOrder.Kind) -> String? {
        guard let link else { return nil }
        guard link.contains("{token}") else { return "\(link)#kind=\(kind.rawValue)&token=\(token)" }
        return link.replacing("{token}", with: token).replacing("{kind}", with: kind.rawValue)
    }
}
