import AsyncHTTPClient
import FoundationEssentials
import Foundations
import JWTKit
import Outbound

/// Apple Push Notification service over HTTP/2, with a token signed by ES256 (Apple, "Sending notification requests to
/// APNs", "Establishing a token-based connection to APNs").
struct APNsProvider: PushProvider {
    private let settings: PushSettings.APNs
    private let client: HTTPClient
    private let token: CachedToken

    init(_ settings: PushSettings.APNs, client: HTTPClient) {
        self.settings = settings
        self.client = client
        // Apple refuses tokens older than an hour, and tokens made more often than every 20 minutes.
        token = CachedToken {
            let keys = JWTKeyCollection()
            await keys.add(ecdsa: settings.key, kid: JWKIdentifier(string: settings.keyID))
            let claims = Claims(iss: settings.teamID, iat: Int(clamping: Date().wholeSeconds))
            return (try await keys.sign(claims, kid: JWKIdentifier(string: settings.keyID)), .seconds(2_400))
        }
    }

    private struct Claims: JWTPayload {
        let iss: String
        let iat: Int

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    private struct Refusal: Decodable {
        let reason: String?
    }

    func deliver(_ push: DevicePush) async -> PushOutcome {
        // The token becomes part of a path.
        guard push.order.device.token.utf8.allSatisfy(\.isHexadecimalDigit) else { return .unregistered }
        do {
            let bearer = try await token.value()
            let response = try await post(push, to: push.order.device, bearer)
            return await outcome(of: response, bearer)
        } catch {
            return .deferred("\(error)", after: nil)
        }
    }

    func check() async -> String? {
        // A token of no device: it is refused for that only if everything else is right.
        let device = String(repeating: "0", count: 64)
        do {
            let response = try await client.post(
                "\(settings.url(isSandbox: false))/3/device/\(device)",
                [("authorization", "bearer \(try await token.value())"), ("apns-topic", settings.topic)],
                Array(#"{"aps":{}}"#.utf8))
            let reason = reason(of: response)
            return reason == "BadDeviceToken" || response.status == 200 ? nil : response.summary
        } catch {
            return "\(error)"
        }
    }

    /// The largest size of a payload, in bytes (Apple, "Generating a remote notification").
    static let maxBytes = 4_096

    /// Returns the payload of a push as JSON of at most ``maxBytes``.
    static func payload(of push: DevicePush) throws -> [UInt8] {
        try whole(push.fitting(maxBytes) { try whole($0).count })
    }

    private static func whole(_ push: DevicePush) throws -> [UInt8] {
        var payload = push.payload
        var aps: [String: PushValue] = ["badge": .integer(push.order.badge)]
        if let text = push.text {
            var alert: [String: PushValue] = ["title": .string(text.title)]
            alert["body"] = text.body.map { .string($0) }
            aps["alert"] = .object(alert)
            aps["sound"] = .string("default")
            aps["thread-id"] = .string("\(push.order.conversation)")
            // An extension of the app may modify it.
            aps["mutable-content"] = .integer(1)
        }
        // The app may sync before the user opens it.
        aps["content-available"] = .integer(1)
        payload["aps"] = .object(aps)
        return try payload.json()
    }

    private func post(_ push: DevicePush, to device: PushOrder.Device, _ bearer: String) async throws
        -> ProviderResponse
    {
        let isShown = push.text != nil
        return try await client.post(
            "\(settings.url(isSandbox: device.isSandbox))/3/device/\(device.token)",
            [
                ("authorization", "bearer \(bearer)"), ("apns-topic", settings.topic),
                // A badge is visible, too.
                ("apns-push-type", "alert"), ("apns-priority", isShown ? "10" : "5"),
                ("apns-collapse-id", push.collapseID),
                ("apns-expiration", "\(Date().wholeSeconds + 86_400)"),
                ("content-type", "application/json"),
            ], try Self.payload(of: push))
    }

    private func reason(of response: ProviderResponse) -> String? {
        try? JSONDecoder().decode(Refusal.self, from: Data(response.body)).reason
    }

    private func outcome(of response: ProviderResponse, _ bearer: String) async -> PushOutcome {
        switch (response.status, reason(of: response)) {
        case (200, _): return .accepted
        case (410, _), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"): return .unregistered
        case (403, let reason):
            // The key is wrong or revoked: the operator must fix that, and no device is unregistered for it.
            if reason == "ExpiredProviderToken" {
                await token.forget(bearer)
                return .deferred(response.summary, after: nil)
            }
            return .deferred(response.summary, after: .seconds(60))
        case (429, _), (500..., _): return .deferred(response.summary, after: response.retryAfter)
        default: return .rejected(response.summary)
        }
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
