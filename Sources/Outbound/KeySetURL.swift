package import Accounts
import AsyncHTTPClient
import NIOCore
package import NIOHTTP1

/// A JWK set that is fetched over HTTP.
package struct KeySetURL: KeySetSource {
    private let url: String
    private let timeout: Duration

    /// - Parameter timeout: the maximum duration of a fetch.
    package init(_ url: String, timeout: Duration = .seconds(5)) {
        self.url = url
        self.timeout = timeout
    }

    package func fetch() async throws -> FetchedKeySet {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "accept", value: "application/json")
        let (head, body): (HTTPClientResponse, ByteBuffer)
        do {
            (head, body) = try await HTTPClient.shared.response(to: request, within: timeout) {
                ($0, try await $0.body.collect(upTo: 65_536))
            }
        } catch {
            throw KeySetError("no key set from \(url): \(error)")
        }
        guard head.status == .ok else {
            throw KeySetError("\(url) responded with \(head.status.code)")
        }
        return FetchedKeySet(text: String(buffer: body), lifetime: Self.lifetime(head.headers))
    }

    /// Returns the time for which a response may be cached (RFC 9111, 4.2): between a minute and a day, an hour if not
    /// specified.
    package static func lifetime(_ headers: HTTPHeaders) -> Duration {
        let directives = headers[canonicalForm: "cache-control"].map { $0.lowercased() }
        if directives.contains(where: { $0 == "no-store" || $0 == "no-cache" }) { return .seconds(60) }
        let age = headers.first(name: "age").flatMap { Int64($0) } ?? 0
        let seconds = directives.lazy.filter { $0.hasPrefix("max-age=") }
            .compactMap { Int64($0.dropFirst("max-age=".count)) }.first
        guard let seconds else { return .seconds(3_600) }
        return .seconds(max(60, min(min(seconds, 86_400) - max(0, min(age, 86_400)), 86_400)))
    }
}
