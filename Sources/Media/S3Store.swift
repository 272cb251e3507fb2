import AsyncHTTPClient
package import FoundationEssentials
package import Foundations
package import Messaging
import NIOCore
import NIOHTTP1
import Outbound
import Synchronization

/// Pictures in an S3-compatible store. Clients exchange bytes with the store directly, never through a node.
///
/// A client uploads to `uploads/` by an address signed for length and type. When the picture is used, the node checks
/// its first bytes and lets the store copy exactly the checked version to its final place. Later uploads by the same
/// address have no effect.
package struct S3Store: MediaStore {
    package let maxBytes: Int
    private let settings: MediaSettings.S3
    private let signature: S3Signature
    private let scheme: String
    private let host: String
    private let base: String
    private let client: HTTPClient

    /// The timeout of requests to the store.
    private static let waitTimeout = TimeAmount.seconds(10)

    /// The validity of the node's own addresses, in seconds.
    private static let ownSeconds = 60

    /// - Throws: `MediaError` if the endpoint is invalid.
    package init(_ settings: MediaSettings.S3) throws {
        guard let url = URL(string: settings.endpoint), let scheme = url.scheme, let host = url.host() else {
            throw MediaError("\(settings.endpoint) is not a URL of a store.")
        }
        self.settings = settings
        maxBytes = settings.maxBytes
        signature = S3Signature(
            region: settings.region, accessKeyID: settings.accessKeyID, secretAccessKey: settings.secretAccessKey)
        self.scheme = scheme
        self.host = url.port.map { "\(host):\($0)" } ?? host
        let path = url.path()
        base = path.hasSuffix("/") ? String(path.dropLast()) : path
        client = try Self.client(trusting: settings.authorities)
    }

    /// A client for each file of certificates, kept for the life of the process.
    private static let clients = Mutex<[String?: HTTPClient]>([:])

    private static func client(trusting authorities: String?) throws -> HTTPClient {
        try clients.withLock { clients in
            if let client = clients[authorities] { return client }
            let client = try HTTPClient.forProviders(trusting: authorities)
            clients[authorities] = client
            return client
        }
    }

    package func upload(of picture: Picture) -> PictureUpload {
        let headers = [("Content-Type", picture.type.rawValue), ("Content-Length", "\(picture.bytes)")]
        return PictureUpload(
            url: url("PUT", settings.bucket, Self.upload(picture.id), headers, seconds: Int(MediaTimes.upload)),
            headers: headers, expiresAt: Date() + TimeInterval(MediaTimes.upload))
    }

    package func address(of id: ID, _ purpose: Picture.Purpose) -> String {
        switch purpose {
        case .avatar: "\(settings.publicURL)/\(Self.key(id, purpose))"
        case .message: "\(scheme)://\(host)\(base)/\(settings.bucket)/\(Self.key(id, purpose))"
        }
    }

    package func signedAddress(of id: ID) -> (url: String, expiresAt: Date) {
        let url = url("GET", settings.bucket, Self.key(id, .message), seconds: Int(MediaTimes.reading))
        return (url, Date() + TimeInterval(MediaTimes.reading))
    }

    package func accept(_ picture: Picture) async throws -> MediaCheckResult {
        let upload = Self.upload(picture.id)
        let range = [("Range", "bytes=0-\(PictureType.signatureLength - 1)")]
        let first = try await send("GET", settings.bucket, upload, range)
        guard first.status != .notFound else { return try await contains(picture) ? .stored : .missing }
        guard let total = first.total, let tag = first.headers.first(name: "ETag") else {
            throw MediaError("The store responded with \(first.status.code).")
        }
        guard total == picture.bytes else {
            try await delete(settings.bucket, upload)
            return .mismatch("has \(total) bytes instead of the declared \(picture.bytes)")
        }
        guard PictureType(firstBytes: first.body.readableBytesView) == picture.type else {
            try await delete(settings.bucket, upload)
            return .mismatch("is not \(picture.type.rawValue) by its first bytes")
        }
        let copied = try await send(
            "PUT", bucket(picture.purpose), Self.key(picture.id, picture.purpose),
            [
                ("x-amz-copy-source", "/\(settings.bucket)/\(upload)"), ("x-amz-copy-source-if-match", tag),
                ("x-amz-metadata-directive", "REPLACE"), ("Content-Type", picture.type.rawValue),
                ("Cache-Control", "\(picture.purpose == .avatar ? "public" : "private"), max-age=31536000, immutable"),
            ])
        // Another version replaced it during the check.
        if copied.status == .preconditionFailed { return .mismatch("changed during the check: upload it only once") }
        // A failed copy may respond with 200 and an error.
        guard copied.status == .ok, try await contains(picture) else {
            throw MediaError("The store failed to copy the picture: \(copied.status.code).")
        }
        try await delete(settings.bucket, upload)
        return .stored
    }

    package func remove(_ id: ID, _ purpose: Picture.Purpose) async throws {
        try await delete(settings.bucket, Self.upload(id))
        try await delete(bucket(purpose), Self.key(id, purpose))
    }

    package func removeUpload(_ id: ID) async throws { try await delete(settings.bucket, Self.upload(id)) }

    package func hasRoom(for bytes: Int) async throws -> Bool { true }

    package func tidy() async throws {}

    /// Checks that a picture can be stored and removed. Returns nil or the error.
    package func check() async -> String? {
        do {
            let key = "uploads/.check-\(ID.random())"
            for bucket in Set([settings.bucket, settings.publicBucket]) {
                let put = try await send("PUT", bucket, key, [("Content-Length", "0")])
                guard put.status == .ok else { return "\(bucket): PUT failed with \(put.status.code)" }
                try await delete(bucket, key)
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}

extension S3Store {
    private struct StoreResponse {
        let status: HTTPResponseStatus
        let headers: HTTPHeaders
        let body: ByteBuffer

        /// The total length, of which a part was requested (RFC 9110, section 14.4).
        var total: Int? {
            switch status {
            case .ok: headers.first(name: "Content-Length").flatMap { Int($0) }
            case .partialContent:
                headers.first(name: "Content-Range")?.split(separator: "/").last.flatMap { Int($0) }
            default: nil
            }
        }
    }

    /// Returns true if a picture's bytes are at their final place.
    package func contains(_ picture: Picture) async throws -> Bool {
        let response = try await send("HEAD", bucket(picture.purpose), Self.key(picture.id, picture.purpose))
        return response.status == .ok && response.total == picture.bytes
    }

    private func delete(_ bucket: String, _ key: String) async throws {
        let response = try await send("DELETE", bucket, key)
        guard [.ok, .noContent, .notFound].contains(response.status) else {
            throw MediaError("The store failed to delete the picture: \(response.status.code).")
        }
    }

    private func send(
        _ method: String, _ bucket: String, _ key: String, _ headers: [(name: String, value: String)] = []
    ) async throws -> StoreResponse {
        var request = HTTPClientRequest(url: url(method, bucket, key, headers, seconds: Self.ownSeconds))
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers where name != "Content-Length" { request.headers.add(name: name, value: value) }
        if method == "PUT" { request.body = .bytes(ByteBuffer()) }
        let response = try await client.execute(request, timeout: Self.waitTimeout)
        // Read no more than the requested part, even if the store sends everything.
        var body = ByteBuffer()
        for try await part in response.body {
            body.writeImmutableBuffer(part)
            if body.readableBytes >= 65_536 { break }
        }
        return StoreResponse(status: response.status, headers: response.headers, body: body)
    }

    private func url(
        _ method: String, _ bucket: String, _ key: String, _ headers: [(name: String, value: String)] = [],
        seconds: Int
    ) -> String {
        signature.url(
            method, scheme: scheme, host: host, path: "\(base)/\(bucket)/\(key)", headers: headers, seconds: seconds)
    }

    private func bucket(_ purpose: Picture.Purpose) -> String {
        purpose == .avatar ? settings.publicBucket : settings.bucket
    }

    private static func upload(_ id: ID) -> String { "uploads/\(id)" }
    private static func key(_ id: ID, _ purpose: Picture.Purpose) -> String { "\(purpose.rawValue)s/\(id)" }
}
