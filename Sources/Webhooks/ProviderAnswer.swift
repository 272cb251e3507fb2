package import AsyncHTTPClient
internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// What a server that was posted to answered.
package struct ProviderAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]

    /// How long to wait, where it says so in seconds (RFC 9110, 10.2.3).
    package let retryAfter: Duration?

    /// What is said of it in the log.
    package var summary: String {
        let text = String(decoding: body.prefix(200), as: UTF8.self)
        return text.isEmpty ? "\(status)" : "\(status) \(text)"
    }
}

extension HTTPClient {
    /// One for requests that go where the operator says, and nowhere else.
    ///
    /// - Parameters:
    ///   - authorities: a file of certificates (PEM) to trust beside those of the system; nil: none.
    ///   - connections: how many there are at a time that carry one request each (HTTP/1.1), by host.
    /// - Throws: where the file has no certificates.
    package static func toProviders(trusting authorities: String?, connections: Int) throws -> HTTPClient {
        var configuration = HTTPClient.Configuration()
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(10))
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .automatic
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        if let authorities {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(authorities))]
            configuration.tlsConfiguration = tls
        }
        return HTTPClient(configuration: configuration)
    }

    /// Posts, and reads the answer, of 64 KiB at most.
    ///
    /// - Throws: what kept it from being answered within ten seconds.
    package func post(_ url: String, _ headers: [(String, String)], _ body: [UInt8]) async throws -> ProviderAnswer {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = HTTPHeaders(headers)
        request.body = .bytes(ByteBuffer(bytes: body))
        let response = try await execute(request, timeout: .seconds(10))
        let answered = try await response.body.collect(upTo: 65_536)
        let retry = response.headers.first(name: "retry-after").flatMap { Int64($0) }
        return ProviderAnswer(
            status: Int(response.status.code), body: Array(answered.readableBytesView),
            retryAfter: retry.map { .seconds(max(1, min($0, 86_400))) })
    }
}

extension Encodable {
    /// As JSON, the same bytes each time.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self).map(\.self)
    }
}
