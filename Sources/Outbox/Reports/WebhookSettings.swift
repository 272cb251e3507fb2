import AsyncHTTPClient
import Outbound

/// A webhook of moderation: that of new reports, or that of held messages.
package struct WebhookSettings: Sendable {
    private let url: String
    private let secret: String

    /// A file of additional trusted certificates (PEM), or nil.
    private let authorities: String?

    package init(url: String, secret: String, authorities: String?) {
        self.url = url
        self.secret = secret
        self.authorities = authorities
    }

    /// Checks that the webhook would accept a request. Returns nil or the error.
    package func check() async -> String? {
        do {
            return try await withWebhook { await $0.check() }
        } catch {
            return "\(error)"
        }
    }

    /// Returns the result of `body`, which may use the webhook until it returns.
    ///
    /// - Parameter connections: the maximum number of HTTP/1.1 connections, each with one request.
    /// - Throws: if the file of certificates is invalid, or the error of `body`.
    func withWebhook<Value: Sendable>(
        connections: Int = 8, _ body: (SignedWebhook) async throws -> Value
    ) async throws -> Value {
        let client = try HTTPClient.forProviders(trusting: authorities, connections: connections)
        let value: Value
        do {
            value = try await body(SignedWebhook(url: url, secret: secret, client: client))
        } catch {
            try? await client.shutdown()
            throw error
        }
        try await client.shutdown()
        return value
    }
}
