import Outbound

/// A server of the operator that receives each mail as a signed POST (`docs/accounts.md`).
struct MailWebhook: MailTransport {
    let webhook: SignedWebhook

    private struct Body: Encodable {
        let type: String
        let mail: Mail
    }

    private struct Mail: Encodable {
        let id: String
        let kind: String
        let email: String
        let user_id: String
        let locale: String?
        let subject: String
        let text: String
        let link: String?
        let token: String?
    }

    func deliver(_ message: MailMessage) async -> MailDelivery {
        let order = message.order
        guard MailAddress(order.email) != nil else { return .unusableAddress }
        let mail = Mail(
            id: "\(order.id)", kind: order.kind.rawValue, email: order.email, user_id: "\(order.user)",
            locale: order.locale, subject: message.subject, text: message.text, link: message.link, token: order.token)
        do {
            let response = try await webhook.post(Body(type: "mail", mail: mail), id: "\(order.id)")
            let logged = "\(response.status)"
            return switch response.status {
            case 200..<300: .accepted(logged)
            case 408, 425, 429, 500...: .deferred(response.summary, after: response.retryAfter, logged: logged)
            // The webhook is misconfigured or not ready.
            case 401, 403, 404: .deferred(response.summary, after: .seconds(60), logged: logged)
            default: .rejected(response.summary, logged: logged)
            }
        } catch {
            return .deferred("\(error)", logged: "\(error)")
        }
    }

    func check() async -> String? { await webhook.check() }
}
