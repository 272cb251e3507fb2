internal import FoundationEssentials
internal import Messaging

/// What is sent, from whom, and by whom (`docs/accounts.md`).
public struct MailSettings: Sendable {
    public var transport: Transport
    public var from: MailAddress

    /// What a mail's link begins with, or where `{token}` and `{kind}` stand for what they say; nil: the token alone.
    public var link: String?
    public var texts = MailTexts()

    /// A file of certificates (PEM) to trust beside those of the system; nil: none.
    public var authorities: String?

    public init(_ transport: Transport, from: MailAddress) {
        self.transport = transport
        self.from = from
    }

    /// Who takes mails.
    public enum Transport: Sendable {
        case smtp(SMTP)
        /// The operator's own server.
        case webhook(url: String, secret: String)
        /// A folder: a file each.
        case folder(String)
    }

    /// A mail server.
    public struct SMTP: Sendable {
        let url: String
        let needsTLS: Bool

        /// Nil where one does not sign in.
        let user: String?
        let password: String?

        /// - Parameters:
        ///   - url: `smtp://host:port` or `smtps://host:port`, without a path.
        ///   - needsTLS: whether a server that does not encrypt (STARTTLS) is given nothing.
        public init(url: String, needsTLS: Bool = true, user: String? = nil, password: String? = nil) {
            self.url = url
            self.needsTLS = needsTLS
            self.user = user
            self.password = password
        }
    }

    /// The mail of an order, in the user's language.
    func message(_ order: MailOrder) -> MailMessage {
        let link = order.token.flatMap { page(for: $0, order.kind) }
        let text = texts.text(of: order, app: from.name ?? from.domain, link: link ?? order.token)
        return MailMessage(order: order, from: from, subject: text.subject, text: text.body, link: link)
    }

    /// In a fragment, which browsers keep to themselves.
    private func page(for token: String, _ kind: MailOrder.Kind) -> String? {
        guard let link else { return nil }
        guard link.contains("{token}") else { return "\(link)#kind=\(kind.rawValue)&token=\(token)" }
        return link.replacing("{token}", with: token).replacing("{kind}", with: kind.rawValue)
    }
}
