import FoundationEssentials
import Foundations
import HTTPServing
import Media
import Messaging
import NIOCore
import NIOHTTP1
import NIOPosix
import WireProtocol

/// Uploads and downloads of the files that this node stores in a folder (`docs/media.md`).
enum MediaRoutes {
    private static let template = "/v1/media/{id}"

    /// The header field with the number of bytes that have arrived.
    private static let offsetField = "Upload-Offset"

    static func all(_ store: FolderStore) -> [Route] {
        // The store validates the whole query.
        [
            Route(.GET, template, query: .any) { context throws(ProtocolError) in
                guard let id = ID(context.pathParameters["id"] ?? "") else { throw .noFile }
                let query = context.request.target.query
                if context.request.method == .HEAD, let (media, _) = store.media(id, putBy: query) {
                    return try await status(of: media, in: store)
                }
                guard let file = store.file(id, readBy: query) else { throw .noFile }
                return try await response(file, tag: "\"\(id)\"", to: context.request)
            },
            Route(.PUT, template, query: .any) { context throws(ProtocolError) in
                guard let incoming = context.request.receiver as? IncomingFile else { throw .noFile }
                do {
                    switch try await NIOThreadPool.singleton.runIfActive({ try incoming.finish() }) {
                    case .stored: return HTTPResponse(.noContent)
                    case .partial(let received): return HTTPResponse(.accepted, [offsetField: "\(received)"])
                    }
                } catch {
                    throw ProtocolError(.invalidRequest, "\(error)")
                }
            },
        ]
    }

    /// Returns the receiver of a file that is uploaded to an upload URL, or nil for another request.
    ///
    /// - Parameter address: the client's address.
    /// - Throws: `HTTPError` if the upload is not allowed.
    static func receiver(
        of head: HTTPRequestHead, from address: AddressKey, by store: FolderStore
    ) throws(HTTPError) -> IncomingFile? {
        guard head.method == .PUT, let target = RequestTarget(head.uri), target.segments.count == 3,
            target.segments.starts(with: ["v1", "media"])
        else { return nil }
        if let name = target.repeatedField ?? head.headers.repeatedField {
            throw HTTPError(.badRequest, "has several values: send one.", field: name)
        }
        guard !head.headers.contains(name: "Idempotency-Key") else {
            throw HTTPError(
                .badRequest, "is only for sending messages: an upload does not read it.", field: "Idempotency-Key")
        }
        guard let id = ID(target.segments[2]), let (media, expires) = store.media(id, putBy: target.query) else {
            throw HTTPError(.forbidden, "This upload URL is not from media.create, or has expired. Create a new one.")
        }
        guard let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }) else {
            throw HTTPError(.lengthRequired, "An upload must have a Content-Length.")
        }
        let part = try part(of: head, of: media)
        guard length == part?.count ?? media.bytes else {
            throw HTTPError(
                .badRequest,
                part == nil
                    ? "Content-Length must be \(media.bytes), as given to media.create (got \(length))."
                    : "Content-Length must be that of the Content-Range (got \(length)).")
        }
        let type = head.headers.first(name: "Content-Type") ?? media.type.rawValue
        guard type.lowercasedASCII == media.type.rawValue else {
            throw HTTPError(.badRequest, "Content-Type must be \(media.type.rawValue), as given to media.create.")
        }
        do {
            return try store.receive(media, part, from: address, until: expires)
        } catch {
            throw HTTPError(error.status, "\(error)")
        }
    }

    /// Returns the bytes of the file that a request brings, or nil for the whole file.
    private static func part(of head: HTTPRequestHead, of media: MediaFile) throws(HTTPError) -> Range<Int>? {
        guard let field = head.headers.first(name: "Content-Range") else { return nil }
        let numbers = field.split(omittingEmptySubsequences: false) { " -/".contains($0) }
        guard numbers.count == 4, let first = Int(numbers[1]), let last = Int(numbers[2]), first <= last,
            last < media.bytes, field == "bytes \(first)-\(last)/\(media.bytes)"
        else {
            throw HTTPError(
                .badRequest, "must be \"bytes FIRST-LAST/\(media.bytes)\".", field: "Content-Range")
        }
        let part = first..<last + 1
        guard !media.type.isPicture || first > 0 || part.count == media.bytes else {
            throw HTTPError(
                .badRequest, "must be the whole file: a picture is not sent in parts.", field: "Content-Range")
        }
        return part
    }

    /// Returns the response that says how much of an upload has arrived.
    private static func status(
        of media: MediaFile, in store: FolderStore
    ) async throws(ProtocolError) -> HTTPResponse {
        do {
            let (received, isComplete) = try await NIOThreadPool.singleton.runIfActive { store.status(of: media) }
            return HTTPResponse(
                .ok,
                [
                    offsetField: "\(received)", "Upload-Length": "\(media.bytes)",
                    "Upload-Complete": isComplete ? "?1" : "?0",
                ])
        } catch {
            throw .unavailable
        }
    }

    private static func response(
        _ stored: StoredFile, tag: String, to request: HTTPRequest
    ) async throws(ProtocolError) -> HTTPResponse {
        let file: HTTPFile
        let type: MediaType?
        do {
            (file, type) = try await NIOThreadPool.singleton.runIfActive {
                let file = try HTTPFile(path: stored.path)
                let first = try file.bytes(from: 0, count: MediaType.signatureLength).readableBytesView
                if let type = stored.type { return (file, type.matches(firstBytes: first) ? type : nil) }
                return (file, MediaType(firstBytes: first))
            }
        } catch {
            throw .noFile
        }
        guard let type else { throw .noFile }
        let age = stored.until.map { max(0, $0.wholeSeconds - Date().wholeSeconds) }
        let disposition =
            type.isShownInline ? ContentDisposition.inline(stored.name) : ContentDisposition.download(stored.name)
        var response = HTTPResponse(
            .ok,
            [
                "Content-Type": type == .text ? "text/plain; charset=utf-8" : type.rawValue,
                // The URL of an avatar never shows another picture. The URL of a message's file expires.
                "Cache-Control": age.map { "private, max-age=\($0)" } ?? "public, max-age=31536000, immutable",
                // Keeps browsers from interpreting the file as anything but its type, and from running it.
                "Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": disposition,
                "Cross-Origin-Resource-Policy": "cross-origin",
            ])
        if response.setFile(file, tag: tag, for: request) { return response }
        var refusal = ErrorFormat.protocol.response(
            for: ProtocolError(.invalidRequest, "The file has \(file.length) bytes: the range begins after its end."))
        refusal.status = .rangeNotSatisfiable
        refusal.headers.replaceOrAdd(name: "Content-Range", value: "bytes */\(file.length)")
        return refusal
    }
}

extension IncomingFile: HTTPBodyReceiver {}

extension UploadRefusal {
    fileprivate var status: HTTPResponseStatus {
        switch self {
        case .used, .inProgress, .offset: .conflict
        case .addressBusy: .tooManyRequests
        case .busy, .diskFull: .serviceUnavailable
        }
    }
}

extension ProtocolError {
    fileprivate static let noFile = ProtocolError(
        .notFound, "The file does not exist, or its URL has expired: media.urls returns a new one.")
}
