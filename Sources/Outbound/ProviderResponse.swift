package import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOSSL

/// The response of a server to a POST.
package struct ProviderResponse: Sendable {
    package let status: Int
    package let body: [UInt8]

    /// The requested wait in seconds (RFC 9110, 10.2.3), or nil.
    package let retryAfter: Duration?

    /// A summary for the log.
    package var summary: String {
        let text = String(decoding: body.prefix(200), as: UTF8.self)
        return text.isEmpty ? "\(status)" : "\(status) \(text)"
    }
}

extension HTTPClient {
    /// Returns a client for requests to configured hosts only.
    ///
    /// - Parameters:
    ///   - authorities: a file of additional trusted certificates (PEM), or nil.
    ///   - connections: the maximum number of HTTP/1.1 connections per host, each with one request.
    /// - Throws: if the file contains no certificates.
    package static func forProviders(trusting authorities: String?, connections: Int = 8) throws -> HTTPClient {
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

    /// Sends a POST, and reads a response of at most 64 KiB.
    ///
    /// - Throws: the reason why there was no response within the timeout.
    package func post(
        _ url: String, _ headers: [(String, String)], _ body: [UInt8], within timeout: Duration = .seconds(10)
    ) async throws -> ProviderResponse {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = HTTPHeaders(headers)
        request.body = .bytes(ByteBuffer(bytes: body))
        return try await response(to: request, within: timeout) { response in
            let answered = try await response.body.collect(upTo: 65_536)
            let retry = response.headers.first(name: "retry-after").flatMap { Int64($0) }
            return ProviderResponse(
                status: Int(response.status.code), body: Array(answered.readableBytesView),
                retryAfter: retry.map { .seconds(max(1, min($0, 86_400))) })
        }
    }

    /// Sends a request and reads its response, together within a time.
    ///
    /// The timeout of `execute(_:timeout:)` ends when the head of the response has arrived.
    ///
    /// - Throws: `HTTPClientError.deadlineExceeded` after that time, or the error of the request or of `read`.
    package func response<Value: Sendable>(
        to request: HTTPClientRequest, within timeout: Duration,
        read: @escaping @Sendable (HTTPClientResponse) async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await read(try await self.execute(request, timeout: TimeAmount(timeout))) }
            group.addTask {
                try await _Concurrency.Task.sleep(for: timeout)
                throw HTTPClientError.deadlineExceeded
            }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}

extension Encodable {
    /// Returns JSON with the same bytes each time.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self).map(\.self)
    }
}
