import FoundationEssentials
import Foundations
import HTTPServing
import Media
import Messaging
import NIOCore
import NIOHTTP1
import NIOPosix
import WireProtocol

/// Uploads and downloads of the pictures that this node stores in a folder (`docs/media.md`).
enum MediaRoutes {
    private static let template = "/v1/media/{id}"

    static func all(_ store: FolderStore) -> [Route] {
        // The store validates the whole query.
        [
            Route(.GET, template, query: .any) { context throws(ProtocolError) in
                guard let id = ID(context.pathParameters["id"] ?? ""),
                    let file = store.file(id, readBy: context.request.target.query)
                else { throw .noPicture }
                return try await response(file.path, until: file.until)
            },
            Route(.PUT, template, query: .any) { context throws(ProtocolError) in
                guard let incoming = context.request.receiver as? IncomingPicture else { throw .noPicture }
                do {
                    try await NIOThreadPool.singleton.runIfActive { try incoming.finish() }
                } catch {
                    throw ProtocolError(.invalidRequest, "\(error)")
                }
                return HTTPResponse(.noContent)
            },
        ]
    }

    /// Returns the receiver of a picture that is uploaded to an upload URL, or nil for another request.
    ///
    /// - Parameter address: the client's address.
    /// - Throws: `HTTPError` if the upload is not allowed.
    static func receiver(
        of head: HTTPRequestHead, from address: AddressKey, by store: FolderStore
    ) throws(HTTPError) -> IncomingPicture? {
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
        guard let id = ID(target.segments[2]), let (picture, expires) = store.picture(id, putBy: target.query) else {
            throw HTTPError(.forbidden, "This upload URL is not from media.create, or has expired. Create a new one.")
        }
        guard let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }) else {
            throw HTTPError(.lengthRequired, "An upload must have a Content-Length.")
        }
        guard length == picture.bytes else {
            throw HTTPError(
                .badRequest, "Content-Length must be \(picture.bytes), as given to media.create (got \(length)).")
        }
        let type = head.headers.first(name: "Content-Type") ?? picture.type.rawValue
        guard type.lowercasedASCII == picture.type.rawValue else {
            throw HTTPError(.badRequest, "Content-Type must be \(picture.type.rawValue), as given to media.create.")
        }
        do {
            return try store.receive(picture, from: address, until: expires)
        } catch {
            throw HTTPError(error.status, "\(error)")
        }
    }

    private static func response(_ path: String, until: Date?) async throws(ProtocolError) -> HTTPResponse {
        let file: HTTPFile
        let type: PictureType?
        do {
            (file, type) = try await NIOThreadPool.singleton.runIfActive {
                let file = try HTTPFile(path: path)
                let first = try file.bytes(from: 0, count: PictureType.signatureLength)
                return (file, PictureType(firstBytes: first.readableBytesView))
            }
        } catch {
            throw .noPicture
        }
        guard let type else { throw .noPicture }
        let age = until.map { max(0, $0.wholeSeconds - Date().wholeSeconds) }
        var response = HTTPResponse(
            .ok,
            [
                "Content-Type": type.rawValue,
                // The URL of an avatar never shows another picture. The URL of a message's picture expires.
                "Cache-Control": age.map { "private, max-age=\($0)" } ?? "public, max-age=31536000, immutable",
                // Keeps browsers from interpreting the file as anything but a picture.
                "Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": "inline",
                "Cross-Origin-Resource-Policy": "cross-origin",
            ])
        response.file = file
        return response
    }
}

extension IncomingPicture: HTTPBodyReceiver {}

extension UploadRefusal {
    fileprivate var status: HTTPResponseStatus {
        switch self {
        case .used, .inProgress: .conflict
        case .addressBusy: .tooManyRequests
        case .busy, .diskFull: .serviceUnavailable
        }
    }
}

extension ProtocolError {
    fileprivate static let noPicture = ProtocolError(
        .notFound, "The picture does not exist, or its URL has expired: media.urls returns a new one.")
}
