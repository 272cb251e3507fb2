import AsyncHTTPClient
package import FoundationEssentials
package import Foundations
package import Messaging
import NIOCore
import NIOHTTP1
import Outbound
import Synchronization

/// Files in an S3-compatible store. Clients exchange bytes with the store directly.
///
/// A client uploads to `uploads/` by an address signed for length and type. When the file is used, the node reads it
/// and lets the store copy exactly the checked version to its final place, or writes it there without its metadata.
/// Later uploads by the same address have no effect. The parts of a large file become one at `uploads/` when it is used
/// (S3's multipart uploads).
package struct S3Store: MediaStore {
    package let limits: MediaLimits
    let settings: MediaSettings.S3
    private let signature: S3Signature
    private let scheme: String
    private let host: String
    private let base: String
    private let client: HTTPClient

    /// The timeout of requests to the store.
    static let waitTimeout = Duration.seconds(10)

    /// The validity of the node's own addresses, in seconds.
    private static let ownSeconds = 60

    /// - Throws: `MediaError` if the endpoint is invalid.
    package init(_ settings: MediaSettings.S3) throws {
        guard let url = URL(string: settings.endpoint), let scheme = url.scheme, let host = url.host() else {
            throw MediaError("\(settings.endpoint) is not a URL of a store.")
        }
        self.settings = settings
        limits = settings.limits
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

    package func upload(of media: MediaFile) -> UploadAddress {
        let headers = [("Content-Type", media.type.rawValue), ("Content-Length", "\(media.bytes)")]
        return UploadAddress(
            url: url("PUT", settings.bucket, Self.upload(media.id), headers, seconds: Int(MediaTimes.upload)),
            headers: headers, expiresAt: Date() + TimeInterval(MediaTimes.upload))
    }

    package func address(of id: ID, _ purpose: MediaFile.Purpose) -> String {
        switch purpose {
        case .avatar: "\(settings.publicURL)/\(Self.key(id, purpose))"
        case .message: "\(scheme)://\(host)\(base)/\(settings.bucket)/\(Self.key(id, purpose))"
        }
    }

    package func signedAddress(of id: ID, _ type: MediaType, name: String?) -> (url: String, expiresAt: Date) {
        let disposition =
            type.isShownInline ? [] : [("response-content-disposition", ContentDisposition.download(name))]
        let url = url(
            "GET", settings.bucket, Self.key(id, .message), query: disposition, seconds: Int(MediaTimes.reading))
        return (url, Date() + TimeInterval(MediaTimes.reading))
    }

    package func accept(_ media: MediaFile) async throws -> MediaCheckResult {
        let upload = Self.upload(media.id)
        let range = [("Range", "bytes=0-\(MediaType.signatureLength - 1)")]
        let first = try await send("GET", settings.bucket, upload, range)
        guard first.status != .notFound else {
            if try await joinParts(of: media) { return try await accept(media) }
            return try await contains(media) ? .stored : .missing
        }
        guard let total = first.total, let tag = first.headers.first(name: "ETag") else {
            throw MediaError("The store responded with \(first.status.code).")
        }
        guard total == media.bytes else {
            try await delete(settings.bucket, upload)
            return .mismatch("has \(total) bytes instead of the declared \(media.bytes)")
        }
        guard media.type.matches(firstBytes: first.body.readableBytesView) else {
            try await delete(settings.bucket, upload)
            return .mismatch("is not \(media.type.rawValue) by its first bytes")
        }
        let status: HTTPResponseStatus
        switch try await inspect(media, tag: tag) {
        case .damaged(let damage):
            try await delete(settings.bucket, upload)
            return .mismatch("is damaged: \(damage)")
        case .changed: status = .preconditionFailed
        case .hasMetadata: status = try await writeWithoutMetadata(media, tag: tag)
        case .hasNoMetadata: status = try await copy(media, tag: tag)
        }
        // Another version replaced it during the check.
        if status == .preconditionFailed { return .mismatch("changed during the check: upload it only once") }
        // A failed copy may respond with 200 and an error.
        guard status == .ok, try await contains(media) else {
            throw MediaError("The store failed to copy the file: \(status.code).")
        }
        try await delete(settings.bucket, upload)
        return .stored
    }

    /// Lets the store copy an upload to its final place.
    private func copy(_ media: MediaFile, tag: String) async throws -> HTTPResponseStatus {
        let source = [
            ("x-amz-copy-source", "/\(settings.bucket)/\(Self.upload(media.id))"),
            ("x-amz-copy-source-if-match", tag),
            ("x-amz-metadata-directive", "REPLACE"),
        ]
        return try await send(
            "PUT", bucket(media.purpose), Self.key(media.id, media.purpose), source + Self.headers(of: media),
            within: Self.waitTimeout(for: media)
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
    private func inspect(_ media: MediaFile, tag: String) async throws -> Inspection {
        guard MetadataEraser(media.type).isExamining else { return .hasNoMetadata }
        return try await client.response(to: readRequest(media, tag: tag), within: Self.waitTimeout(for: media)) {
            response in
            guard try Self.isUnchanged(response) else { return .changed }
            var eraser = MetadataEraser(media.type)
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
    private func writeWithoutMetadata(_ media: MediaFile, tag: String) async throws -> HTTPResponseStatus {
        let timeout = TimeAmount(Self.waitTimeout(for: media))
        let upload = try await client.execute(readRequest(media, tag: tag), timeout: timeout)
        guard try Self.isUnchanged(upload) else { return upload.status }
        let (bucket, headers) = (bucket(media.purpose), Self.headers(of: media))
        var request = HTTPClientRequest(
            url: url("PUT", bucket, Self.key(media.id, media.purpose), headers, seconds: Self.ownSeconds))
        request.method = .PUT
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        request.body = .stream(
            WithoutMetadata(base: upload.body, type: media.type), length: .known(Int64(media.bytes)))
        // The store responds once it has everything, so this time bounds the reading too.
        return try await client.execute(request, timeout: timeout).status
    }

    /// A request for a version of an upload.
    private func readRequest(_ media: MediaFile, tag: String) -> HTTPClientRequest {
        let headers = [(name: "If-Match", value: tag)]
        var request = HTTPClientRequest(
            url: url("GET", settings.bucket, Self.upload(media.id), headers, seconds: Self.ownSeconds))
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

    /// The timeout of a whole file: at least 1 MiB per second.
    static func waitTimeout(for media: MediaFile) -> Duration {
        waitTimeout + .seconds(media.bytes >> 20)
    }

    /// The headers with which the store serves a file.
    private static func headers(of media: MediaFile) -> [(name: String, value: String)] {
        [
            ("Content-Type", media.type.rawValue),
            ("Cache-Control", "\(media.purpose == .avatar ? "public" : "private"), max-age=31536000, immutable"),
        ] + (media.type.isShownInline ? [] : [("Content-Disposition", "attachment")])
    }

    package func remove(_ id: ID, _ purpose: MediaFile.Purpose) async throws {
        try await removeUpload(id)
        try await delete(bucket(purpose), Self.key(id, purpose))
    }

    package func removeUpload(_ id: ID) async throws {
        try await removeParts(of: id)
        try await delete(settings.bucket, Self.upload(id))
    }

    package func hasRoom(for bytes: Int) async throws -> Bool { true }

    package func tidy() async throws {}

    /// Checks that a file can be stored and removed. Returns nil or the error.
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

/// The bytes of a file without its metadata, while they arrive.
private struct WithoutMetadata: AsyncSequence, Sendable {
    let base: HTTPClientResponse.Body
    let type: MediaType

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
    struct StoreResponse: Sendable {
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

    /// Returns true if a file's bytes are at their final place.
    package func contains(_ media: MediaFile) async throws -> Bool {
        let response = try await send("HEAD", bucket(media.purpose), Self.key(media.id, media.purpose))
        return response.status == .ok && response.total == media.bytes
    }

    private func delete(_ bucket: String, _ key: String) async throws {
        let response = try await send("DELETE", bucket, key)
        guard [.ok, .noContent, .notFound].contains(response.status) else {
            throw MediaError("The store failed to delete the file: \(response.status.code).")
        }
    }

    /// Sends a request, and returns the response with the first bytes of its body.
    func send(
        _ method: String, _ bucket: String, _ key: String, _ headers: [(name: String, value: String)] = [],
        query: [(name: String, value: String)] = [], body content: String = "", maxBytes: Int = 65_536,
        within timeout: Duration = waitTimeout
    ) async throws -> StoreResponse {
        var request = HTTPClientRequest(
            url: url(method, bucket, key, headers, query: query, seconds: Self.ownSeconds))
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers where name != "Content-Length" { request.headers.add(name: name, value: value) }
        if ["PUT", "POST"].contains(method) { request.body = .bytes(ByteBuffer(string: content)) }
        return try await client.response(to: request, within: timeout) { response in
            // Read no more than the requested part, even if the store sends everything.
            var body = ByteBuffer()
            for try await part in response.body {
                body.writeImmutableBuffer(part)
                if body.readableBytes >= maxBytes { break }
            }
            return StoreResponse(status: response.status, headers: response.headers, body: body)
        }
    }

    /// Returns a signed address of a key, or of the bucket if the key is empty.
    func url(
        _ method: String, _ bucket: String, _ key: String, _ headers: [(name: String, value: String)] = [],
        query: [(name: String, value: String)] = [], seconds: Int
    ) -> String {
        signature.url(
            method, scheme: scheme, host: host, path: "\(base)/\(bucket)" + (key.isEmpty ? "" : "/\(key)"),
            headers: headers, query: query, seconds: seconds)
    }

    private func bucket(_ purpose: MediaFile.Purpose) -> String {
        purpose == .avatar ? settings.publicBucket : settings.bucket
    }

    static func upload(_ id: ID) -> String { "uploads/\(id)" }
    private static func key(_ id: ID, _ purpose: MediaFile.Purpose) -> String { "\(purpose.rawValue)s/\(id)" }
}
