internal import AsyncHTTPClient
internal import FoundationEssentials
internal import JWTKit
internal import Messaging
internal import Webhooks

/// Firebase Cloud Messaging, HTTP v1, as a service account (Google, "Send messages using FCM HTTP v1 API", "Using OAuth
/// 2.0 for server to server applications").
struct FCM: PushProvider {
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

    private struct Refusal: Decodable {
        let error: Status?

        struct Status: Decodable {
            let status: String?
            let details: [Detail]?
        }

        struct Detail: Decodable {
            let errorCode: String?
        }

        var code: String? { error?.details?.compactMap(\.errorCode).first ?? error?.status }
    }

    private static func accessToken(
        _ account: PushSettings.FCM, _ client: HTTPClient
    ) async throws -> (String, Duration) {
        let keys = JWTKeyCollection()
        await keys.add(rsa: account.key, digestAlgorithm: .sha256)
        let now = Int(clamping: Date().wholeSeconds)
        let assertion = try await keys.sign(
            Claims(
                iss: account.clientEmail, scope: "https://www.googleapis.com/auth/firebase.messaging",
                aud: account.tokenURL, iat: now, exp: now + 3_600))
        let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=\(assertion)"
        let answer = try await client.post(
            account.tokenURL, [("content-type", "application/x-www-form-urlencoded")], Array(form.utf8))
        guard answer.status == 200, let granted = try? JSONDecoder().decode(Granted.self, from: Data(answer.body))
        else { throw PushError("no access token for the service account: \(answer.summary)") }
        return (granted.access_token, .seconds(max(1, granted.expires_in - 60)))
    }

    func deliver(_ push: Push) async -> PushOutcome {
        do {
            let bearer = try await token.value()
            let answer = try await client.post(
                "\(account.url)/v1/projects/\(account.projectID)/messages:send",
                [("authorization", "Bearer \(bearer)"), ("content-type", "application/json")],
                try ["message": message(push)].json())
            return await outcome(of: answer, bearer)
        } catch {
            return .later("\(error)", after: nil)
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

    private func message(_ push: Push) -> PushValue {
        let conversation = PushValue.string("\(push.order.conversation)")
        var android: [String: PushValue] = [
            "collapse_key": conversation, "ttl": .string("86400s"),
            "priority": .string(push.text == nil ? "NORMAL" : "HIGH"),
        ]
        var message: [String: PushValue] = [
            "token": .string(push.order.device.token),
            "data": .object(push.payload.mapValues { .string($0.text) }),
        ]
        if let text = push.text {
            var notification: [String: PushValue] = ["title": .string(text.title)]
            notification["body"] = text.body.map { .string($0) }
            message["notification"] = .object(notification)
            // A later one of the conversation stands in its place.
            android["notification"] = .object(["tag": conversation, "notification_count": .integer(push.order.badge)])
        }
        message["android"] = .object(android)
        return .object(message)
    }

    private func outcome(of answer: ProviderAnswer, _ bearer: String) async -> PushOutcome {
        let code = try? JSONDecoder().decode(Refusal.self, from: Data(answer.body)).code
        switch (answer.status, code) {
        case (200, _): return .taken
        case (404, "UNREGISTERED"), (403, "SENDER_ID_MISMATCH"): return .unregistered
        case (401, _):
            await token.forget(bearer)
            return .later(answer.summary, after: nil)
        case (403, _): return .later(answer.summary, after: .seconds(60))
        // Google asks for a minute where it does not say for how long.
        case (429, _): return .later(answer.summary, after: answer.retryAfter ?? .seconds(60))
        case (500..., _): return .later(answer.summary, after: answer.retryAfter)
        default: return .refused(answer.summary)
        }
    }
}
