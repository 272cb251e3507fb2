import FoundationEssentials
import Media
import Messaging
import NIOCore
import NIOHTTP1
import NIOPosix

/// The pictures of a folder, each at its address (`docs/media.md`).
enum MediaRoutes {
    private static let template = "/v1/media/{id}"

    static func all(_ store: FolderStore) -> [Route] {
        // The store checks the whole query.
        [
            Route(.GET, template, query: .any) { exchange throws(ProtocolError) in
                guard let id = ID(exchange.captures["id"] ?? ""),
                    let place = store.file(id, readBy: exchange.request.target.query)
                else { throw .noPicture }
                return try await answer(place.path, until: place.until)
            },
            Route(.PUT, template, query: .any) { exchange throws(ProtocolError) in
                guard let incoming = exchange.request.receiver as? IncomingPicture else { throw .noPicture }
                do {
                    try await NIOThreadPool.singleton.runIfActive { try incoming.finish() }
                } catch {
                    throw ProtocolError(.invalidRequest, "\(error)")
                }
                return HTTPAnswer(.noContent)
            },
        ]
    }

    /// Returns the receiver of a picture that is put to an upload address, or nil for another request.
    ///
    /// - Parameter address: The client's.
    /// - Throws: `HTTPRefusal` if the picture may not be put there.
    static func receiver(
        of head: HTTPRequestHead, from address: AddressKey, by store: FolderStore
    ) throws(HTTPRefusal) -> IncomingPicture? {
        guard head.method == .PUT, let target = RequestTarget(head.uri), target.segments.count == 3,
            target.segments.starts(with: ["v1", "media"])
        else { return nil }
        if let name = target.repeatedField ?? head.headers.repeatedField {
            throw HTTPRefusal(.badRequest, "has several values: give one.", field: name)
        }
        guard !head.headers.contains(name: "Idempotency-Key") else {
            throw HTTPRefusal(
                .badRequest, "is for sending a message alone: an upload does not read it.", field: "Idempotency-Key")
        }
        guard let id = ID(target.segments[2]), let (picture, expires) = store.picture(id, putBy: target.query) else {
            throw HTTPRefusal(.forbidden, "This is no address that media.create gave, or its time is over.")
        }
        guard let length = head.headers.first(name: "Content-Length").flatMap({ Int($0) }) else {
            throw HTTPRefusal(.lengthRequired, "A picture comes with its Content-Length.")
        }
        guard length == picture.bytes else {
            throw HTTPRefusal(.badRequest, "There are \(length) bytes in place of the \(picture.bytes) promised.")
        }
        let type = head.headers.first(name: "Content-Type") ?? picture.type.rawValue
        guard type.lowercasedASCII == picture.type.rawValue else {
            throw HTTPRefusal(.badRequest, "It was to be \(picture.type.rawValue): let Content-Type be that.")
        }
        do {
            return try store.receive(picture, from: address, until: expires)
        } catch {
            throw HTTPRefusal(error.status, "\(error)")
        }
    }

    private static func answer(_ path: String, until: Date?) async throws(ProtocolError) -> HTTPAnswer {
        let file: HTTPFile
        let type: PictureType?
        do {
            (file, type) = try await NIOThreadPool.singleton.runIfActive {
                let file = try HTTPFile(path: path)
                let first = try file.bytes(from: 0, count: PictureType.tellingBytes)
                return (file, PictureType(firstBytes: first.readableBytesView))
            }
        } catch {
            throw .noPicture
        }
        guard let type else { throw .noPicture }
        let age = until.map { max(0, $0.wholeSeconds - Date().wholeSeconds) }
        var answer = HTTPAnswer(
            .ok,
            [
                "Content-Type": type.rawValue,
                // An avatar's address is never another picture's; one of a message may be read for as long as it is good.
                "Cache-Control": age.map { "private, max-age=\($0)" } ?? "public, max-age=31536000, immutable",
                // It is a picture, whatever else a browser may find in it.
                "Content-Security-Policy": "default-src 'none'; sandbox", "Content-Disposition": "inline",
                "Cross-Origin-Resource-Policy": "cross-origin",
            ])
        answer.file = file
        return answer
    }
}

extension IncomingPicture: HTTPBodyReceiver {}

extension UploadRefusal {
    fileprivate var status: HTTPResponseStatus {
        switch self {
        case .isUsed, .isInProgress: .conflict
        case .isAddressBusy: .tooManyRequests
        case .isBusy, .isDiskFull: .serviceUnavailable
        }
    }
}

extension ProtocolError {
    fileprivate static let noPicture = ProtocolError(
        .notFound, "There is no picture at this address, or its time is over: media.urls gives another.")
}
