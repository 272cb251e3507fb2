internal import AsyncHTTPClient
internal import Crypto
internal import FoundationEssentials
internal import Messaging

/// The operator's own server, or a function of its cloud: a POST, signed, with a push for a device of its own
/// (`docs/push.md`, "Webhook").
struct Webhook: PushProvider {
    let settings: PushSettings.Webhook
    let client: HTTPClient

    private struct Body: Encodable {
        let type: String
        var device: [String: PushValue]?
        var push: [String: PushValue]?
    }

    func deliver(_ push: Push) async -> PushOutcome {
        let device = push.order.device
        var described: [String: PushValue] = [
            "id": .string("\(device.id)"), "token": .string(device.token), "user_id": .string("\(push.order.user)"),
        ]
        described["locale"] = device.locale.map { .string($0) }
        do {
            let answer = try await post(
                Body(type: push.text == nil ? "read" : "message", device: described, push: push.payload),
                id: "\(device.id)/\(push.order.conversation)/\(push.order.kind.rawValue)/\(push.order.seq)")
            return switch answer.status {
            case 200..<300: .taken
            case 410: .unregistered
            case 408, 425, 429, 500...: .later(answer.summary, after: answer.retryAfter)
            // It is set up wrongly, or not yet.
            case 401, 403, 404: .later(answer.summary, after: .seconds(60))
            default: .refused(answer.summary)
            }
        } catch {
            return .later("\(error)", after: nil)
        }
    }

    func check() async -> String? {
        do {
            let answer = try await post(Body(type: "check"), id: "check")
            return 200..<300 ~= answer.status ? nil : answer.summary
        } catch {
            return "\(error)"
        }
    }

    private func post(_ body: Body, id: String) async throws -> ProviderAnswer {
        let bytes = try body.json()
        let timestamp = "\(Int(Date().timeIntervalSince1970))"
        // The time is signed too, so that what was recorded cannot be said again later.
        var code = HMAC<SHA256>(key: SymmetricKey(data: Array(settings.secret.utf8)))
        code.update(data: Array("\(timestamp).".utf8))
        code.update(data: bytes)
        return try await client.post(
            settings.url,
            [
                ("content-type", "application/json"), ("postline-delivery", id), ("postline-timestamp", timestamp),
                ("postline-signature", "v1=\(code.finalize().map { $0.hexadecimal }.joined())"),
            ], bytes)
    }
}

extension UInt8 {
    fileprivate var hexadecimal: String { (self < 16 ? "0" : "") + String(self, radix: 16) }
}
