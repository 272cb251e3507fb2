import AsyncHTTPClient
import Outbound

/// A server of the operator that receives each push as a signed POST (`docs/push.md`, "Webhook").
struct WebhookProvider: PushProvider {
    private let webhook: SignedWebhook

    init(settings: PushSettings.Webhook, client: HTTPClient) {
        webhook = SignedWebhook(url: settings.url, secret: settings.secret, client: client)
    }

    private struct Body: Encodable {
        let type: String
        var device: [String: PushValue]?
        var push: [String: PushValue]?
    }

    func deliver(_ push: DevicePush) async -> PushOutcome {
        let device = push.order.device
        var described: [String: PushValue] = [
            "id": .string("\(device.id)"), "token": .string(device.token), "user_id": .string("\(push.order.user)"),
        ]
        described["locale"] = device.locale.map { .string($0) }
        do {
            let response = try await webhook.post(
                Body(type: push.order.kind.typeName, device: described, push: push.payload),
                id: "\(device.id)/\(push.order.conversation)/\(push.order.kind.rawValue)/\(push.order.seq)")
            return switch response.status {
            case 200..<300: .accepted
            case 410: .unregistered
            case 408, 425, 429, 500...: .deferred(response.summary, after: response.retryAfter)
            // The webhook is misconfigured or not ready.
            case 401, 403, 404: .deferred(response.summary, after: .seconds(60))
            default: .rejected(response.summary)
            }
        } catch {
            return .deferred("\(error)", after: nil)
        }
    }

    func check() async -> String? { await webhook.check() }
}
