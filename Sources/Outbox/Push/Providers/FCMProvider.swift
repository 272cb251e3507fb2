import AsyncHTTPClient
import FoundationEssentials
import Foundations
import JWTKit
import Outbound

/// Firebase Cloud Messaging, HTTP v1, with a service account (Google, "Send messages using FCM HTTP v1 API", "Using
/// OAuth 2.0 for server to server applications").
struct FCMProvider: PushProvider {
    private let account: PushSettings.FCM
    private let client: HTTPClient
    private let token: CachedToken

    init(_ account: PushSettings.FCM, client: HTTPClient) {
        self.account = account
        self.client = client
        token = CachedToken { try await Self.accessToken(account, client) }
    }

    private struct Claims: JWTPayload {
        let iss: String
        let scope: String
        let aud: String
        let iat: Int
        let exp: Int

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    private struct Granted: Decodable {
        let access_token: String
        let expires_in: Int
    }

    private static func accessToken(
        _ account: PushSettings.FCM, _ client: HTTPClient
    ) async throws -> (String, Duration) {
        let keys = JWTKeyCollection()
        let keyID = account.keyID.map { JWKIdentifier(string: $0) }
        await keys.add(rsa: account.key, digestAlgorithm: .sha256, kid: keyID)
        let now = Int(clamping: Date().wholeSeconds)
        let assertion = try await keys.sign(
            Claims(
                iss: account.clientEmail, scope: "https://www.googleapis.com/auth/firebase.messaging",
                aud: account.tokenURL, iat: now, exp: now + 3_600), kid: keyID)
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        let response = try await client.post(
            account.tokenURL, [("content-type", "application/x-www-form-urlencoded")], Array(form.utf8))
        guard response.status == 200, let granted = try? JSONDecoder().decode(Granted.self, from: Data(response.body))
        else { throw OutboxError("the service account got no access token: \(response.summary)") }
        return (granted.access_token, .seconds(max(1, granted.expires_in - 60)))
    }

    func deliver(_ push: DevicePush) async -> PushOutcome {
        do {
            let bearer = try await token.value()
            let response = try await client.post(
                "\(account.url)/v1/projects/\(account.projectID)/messages:send",
                [("authorization", "Bearer \(bearer)"), ("content-type", "application/json")],
                try Self.body(of: push))
            return await outcome(of: response, bearer)
        } catch {
            return .deferred("\(error)", after: nil)
        }
    }

    func check() async -> String? {
        do {
            _ = try await token.value()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// The maximum size of a message without its token, in bytes: FCM accepts 4,096 of data, 4,000 for topics.
    static let maxBytes = 4_000

    /// Returns the request body of a push as JSON. The message without its token has at most ``maxBytes``.
    static func body(of push: DevicePush) throws -> [UInt8] {
        var whole = message(try push.fitting(maxBytes) { try message($0).json().count })
        whole["token"] = .string(push.order.device.token)
        return try ["message": whole].json()
    }

    private static func message(_ push: DevicePush) -> [String: PushValue] {
        let collapseID = PushValue.string(push.collapseID)
        var android: [String: PushValue] = [
            "collapse_key": collapseID, "ttl": .string("86400s"),
            "priority": .string(push.text == nil ? "NORMAL" : "HIGH"),
        ]
        var message: [String: PushValue] = ["data": .object(push.payload.mapValues { .string($0.text) })]
        if let text = push.text {
            var notification: [String: PushValue] = ["title": .string(text.title)]
            notification["body"] = text.body.map { .string($0) }
            message["notification"] = .object(notification)
            // A later notification of the same kind in the conversation replaces it.
            android["notification"] = .object(["tag": collapseID, "notification_count": .integer(push.order.badge)])
        }
        message["android"] = .object(android)
        return message
    }

    private func outcome(of response: ProviderResponse, _ bearer: String) async -> PushOutcome {
        if response.status == 401 { await token.forget(bearer) }
        return Self.outcome(of: response)
    }

    static func outcome(of response: ProviderResponse) -> PushOutcome {
        let refusal = try? JSONDecoder().decode(FCMRefusal.self, from: Data(response.body))
        switch response.status {
        case 200: return .accepted
        case 400...404 where refusal?.isOfDevice == true && response.status != 401: return .unregistered
        case 401: return .deferred(response.summary, after: nil)
        case 403: return .deferred(response.summary, after: .seconds(60))
        // Google recommends a minute if it does not specify the time.
        case 429: return .deferred(response.summary, after: response.retryAfter ?? .seconds(60))
        case 500...: return .deferred(response.summary, after: response.retryAfter)
        default: return .rejected(response.summary)
        }
    }
}

/// An error of FCM (Google, "FCM error codes", and `google.rpc.Status` with its details).
struct FCMRefusal: Decodable {
    let error: Status?

    struct Status: Decodable {
        let status: String?
        let message: String?
        let details: [Detail]?
    }

    struct Detail: Decodable {
        let errorCode: String?
        let fieldViolations: [Violation]?
    }

    struct Violation: Decodable {
        let field: String?
    }

    /// True if the error says that the device's token is not, or no longer, one of the project.
    var isOfDevice: Bool {
        let details = error?.details ?? []
        switch details.compactMap(\.errorCode).first ?? error?.status {
        case "UNREGISTERED", "SENDER_ID_MISMATCH": return true
        case "INVALID_ARGUMENT":
            let fields = details.flatMap { $0.fieldViolations ?? [] }.compactMap(\.field)
            // Without fields only the message tells: "The registration token is not a valid FCM registration token".
            return fields.isEmpty
                ? error?.message?.contains("registration token is not a valid FCM registration token") == true
                : fields.contains("message.token")
        default: return false
        }
    }
}
