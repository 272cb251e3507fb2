import AsyncHTTPClient
package import FoundationEssentials
package import Foundations
package import Messaging
import NIOCore
import NIOHTTP1
import Outbound
import Synchronization

/// Pictures in an S3-compatible store. Clients exchange bytes with the store directly.
///
/// A client uploads to `uploads/` by an address signed for length and type. When the picture is used, the node reads it
/// and lets the store copy exactly the checked version to its final place, or writes it there without its metadata.
/// Later uploads by the same address have no effect.
package struct S3Store: MediaStore {
    package let maxBytes: Int
    private let settings: MediaSettings.S3
    private let signature: S3Signature
    private let scheme: String
    private let host: String
    private let base: String
    private let client: HTTPClient

    /// The timeout of requests to the store.
    private static let waitTimeout = Duration.seconds(10)

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
        let status: HTTPResponseStatus
        switch try await inspect(picture, tag: tag) {
        case .damaged(let damage):
            try await delete(settings.bucket, upload)
            return .mismatch("is damaged: \(damage)")
        case .changed: status = .preconditionFailed
        case .hasMetadata: status = try await writeWithoutMetadata(picture, tag: tag)
        case .hasNoMetadata: status = try await copy(picture, tag: tag)
        }
        // Another version replaced it during the check.
        if status == .preconditionFailed { return .mismatch("changed during the check: upload it only once") }
        // A failed copy may respond with 200 and an error.
        guard status == .ok, try await contains(picture) else {
            throw MediaError("The store failed to copy the picture: \(status.code).")
        }
        try await delete(settings.bucket, upload)
        return .stored
    }

    /// Lets the store copy an upload to its final place.
    private func copy(_ picture: Picture, tag: String) async throws -> HTTPResponseStatus {
        let source = [
            ("x-amz-copy-source", "/\(settings.bucket)/\(Self.upload(picture.id))"),
            ("x-amz-copy-source-if-match", tag),
            ("x-amz-metadata-directive", "REPLACE"),
        ]
        return try await send(
            "PUT", bucket(picture.purpose), Self.key(picture.id, picture.purpose), source + Self.headers(of: picture)
        ).status
    }

    /// The result of reading an upload.
    private enum Inspection {
        case hasNoMetadata, hasMetadata
        case damaged(PictureDamage)
        /// Another version has replaced it.
        case changed
    }

    /// Reads an upload, in parts.
    private func inspect(_ picture: Picture, tag: String) async throws -> Inspection {
        try await client.response(to: readRequest(picture, tag: tag), within: Self.waitTimeout(for: picture)) {
            response in
            guard try Self.isUnchanged(response) else { return .changed }
            var eraser = MetadataEraser(picture.type)
            for try await part in response.body {
                var output = ByteBuffer()
                do throws(PictureDamage) {
                    try eraser.erase(part.readableBytesView, into: &output)
                } catch {
                    return .damaged(error)
                }
            }
            var rest = ByteBuffer()
            eraser.finish(into: &rest)
            return eraser.hasErased ? .hasMetadata : .hasNoMetadata
        }
    }

    /// Writes an upload to its final place without its metadata, while it is read.
    private func writeWithoutMetadata(_ picture: Picture, tag: String) async throws -> HTTPResponseStatus {
        let timeout = TimeAmount(Self.waitTimeout(for: picture))
        let upload = try await client.execute(readRequest(picture, tag: tag), timeout: timeout)
        guard try Self.isUnchanged(upload) else { return upload.status }
        let (bucket, headers) = (bucket(picture.purpose), Self.headers(of: picture))
        var request = HTTPClientRequest(
            url: url("PUT", bucket, Self.key(picture.id, picture.purpose), headers, seconds: Self.ownSeconds))
        request.method = .PUT
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = .stream(
            WithoutMetadata(base: upload.body, type: picture.type), length: .known(Int64(picture.bytes)))
        // The store responds once it has everything, so this time bounds the reading too.
        return try await client.execute(request, timeout: timeout).status
    }

    /// A request for a version of an upload.
    private func readRequest(_ picture: Picture, tag: String) -> HTTPClientRequest {
        let headers = [(name: "If-Match", value: tag)]
        var request = HTTPClientRequest(
            url: url("GET", settings.bucket, Self.upload(picture.id), headers, seconds: Self.ownSeconds))
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        return request
    }

    /// Returns true for a response with the requested version, and false if another version has replaced it.
    ///
    /// - Throws: `MediaError` for any other response.
    private static func isUnchanged(_ response: HTTPClientResponse) throws -> Bool {
        guard [.ok, .preconditionFailed].contains(response.status) else {
            throw MediaError("The store responded with \(response.status.code).")
        }
        return response.status == .ok
    }

    /// The timeout of a whole picture: at least 1 MiB per second.
    private static func waitTimeout(for picture: Picture) -> Duration {
        waitTimeout + .seconds(picture.bytes >> 20)
    }

    /// The headers with which the store serves a picture.
    private static func headers(of picture: Picture) -> [(name: String, value: String)] {
        [
            ("Content-Type", picture.type.rawValue),
            ("Cache-Control", "\(picture.purpose == .avatar ? "public" : "private"), max-age=31536000, immutable"),
        ]
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

/// The bytes of a picture without its metadata, while they arrive.
private struct WithoutMetadata: AsyncSequence, Sendable {
    let base: HTTPClientResponse.Body
    let type: PictureType

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: HTTPClientResponse.Body.AsyncIterator
        var eraser: MetadataEraser
        var hasEnded = false

        mutating func next(isolation actor: isolated (any Actor)?) async throws -> ByteBuffer? {
            var output = ByteBuffer()
            while !hasEnded, output.readableBytes == 0 {
                if let part = try await base.next(isolation: actor) {
                    try eraser.erase(part.readableBytesView, into: &output)
                } else {
                    hasEnded = true
                    eraser.finish(into: &output)
                }
            }
            return output.readableBytes == 0 ? nil : output
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(base: base.makeAsyncIterator(), eraser: MetadataEraser(type))
    }
}

extension S3Store {
    private struct StoreResponse: Sendable {
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
        return try await client.response(to: request, within: Self.waitTimeout) { response in
            // Read no more than the requested part, even if the store sends everything.
            var body = ByteBuffer()
            for try await part in response.body {
                body.writeImmutableBuffer(part)
                if body.readableBytes >= 65_536 { break }
            }
            return StoreResponse(status: response.status, headers: response.headers, body: body)
        }
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
