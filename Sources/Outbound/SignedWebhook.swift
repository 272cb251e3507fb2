package import AsyncHTTPClient
import Crypto
import FoundationEssentials
import Foundations

/// A server of the operator that receives signed JSON by POST (`docs/push.md`, "Webhook").
package struct SignedWebhook: Sendable {
    private let url: String
    private let secret: String
    private let client: HTTPClient

    /// - Parameter secret: the secret that signs requests.
    package init(url: String, secret: String, client: HTTPClient) {
        self.url = url
        self.secret = secret
        self.client = client
    }

    /// Sends a signed POST.
    ///
    /// - Parameter id: the id of the body, the same if it is posted again.
    /// - Throws: the reason why there was no response.
    package func post(_ body: some Encodable, id: String) async throws -> ProviderResponse {
        try await post(body.json(), id: id)
    }

    /// Sends a signed POST.
    ///
    /// - Parameters:
    ///   - bytes: the body, JSON.
    ///   - id: the id of the body, the same if it is posted again.
    ///   - timeout: the time within which the response must have come.
    /// - Throws: the reason why there was no response.
    package func post(
        _ bytes: [UInt8], id: String, within timeout: Duration = .seconds(10)
    ) async throws -> ProviderResponse {
        let timestamp = "\(Int64(exactly: Date().timeIntervalSince1970.rounded(.down)) ?? 0)"
        // The time is signed too, so that a recorded request cannot be replayed later.
        var code = HMAC<SHA256>(key: SymmetricKey(data: Array(secret.utf8)))
        code.update(data: Array("\(timestamp).".utf8))
        code.update(data: bytes)
        return try await client.post(
            url,
            [
                ("content-type", "application/json"), ("postline-delivery", id), ("postline-timestamp", timestamp),
                ("postline-signature", "v1=\(code.finalize().hexadecimal)"),
            ], bytes, within: timeout)
    }

    /// Checks that it would accept a request, by `{"type":"check"}`. Returns nil or the error.
    package func check() async -> String? {
        do {
            let response = try await post(["type": "check"], id: "check")
            switch response.status {
            case 200..<300: return nil
            case 401, 403: return "it responded with \(response.summary) (check that both have the same secret)"
            default: return "it responded with \(response.summary)"
            }
        } catch {
            return "\(error)"
        }
    }
}
