import Accounts
import DatabaseAccess
import FoundationEssentials
import Foundations
import Logging
import NIOCore
import Postgres
import WireProtocol

extension Operation {
    /// The methods `media.*` of files. The database has their metadata and a store their bytes.
    static let media = [createMedia, mediaURLs, mediaParts]

    private static let createMedia = Operation(
        "media.create", .user, "Returns an upload URL for a file.",
        [
            Parameter("purpose", .string(.choice(MediaFile.Purpose.allCases.map(\.rawValue))), "The use of the file."),
            Parameter(
                "mime_type", .string(.choice(MediaType.allCases.map(\.rawValue))),
                "The type of the file. An avatar is a picture."),
            Parameter("bytes", .integer(1...(1 << 30)), "The exact size in bytes."),
            Parameter("conversation_id", .uuid, .optional, "The conversation of a message's file."),
            Parameter("width", .integer(1...65_535), .optional, "In pixels."),
            Parameter("height", .integer(1...65_535), .optional, "In pixels."),
            Parameter(
                "name", .string(.characters(1...255)), .optional,
                "The name for downloads. Required for application/octet-stream."),
        ],
        result: .object([
            ("id", .uuid),
            (
                "upload",
                .object(
                    [
                        ("method", .choice(["PUT"])), ("url", .string),
                        ("headers", Schema(["type": .string("object")]).described("The headers of the upload.")),
                        ("expires_at", .timestamp),
                    ],
                    optional: [
                        (
                            "part_bytes",
                            .integer.described("The size of a part, if the file may also be uploaded in parts.")
                        )
                    ])
            ),
        ]),
        errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        let store = try session.service.requireMedia()
        let bytes = Int(params.integer("bytes") ?? 0)
        guard let purpose = params.string("purpose").flatMap(MediaFile.Purpose.init),
            let type = params.string("mime_type").flatMap(MediaType.init)
        else { throw .fault("media.create without a valid type") }
        let maxBytes = store.limits.maxBytes(of: type)
        guard bytes <= maxBytes else {
            let kind = type.isPicture ? "picture" : "file"
            throw .invalid("bytes", "must be 1 to \(maxBytes) bytes: make the \(kind) smaller")
        }
        try await session.service.requireRoom(for: bytes, in: store)
        let token = try await session.token
        try session.limits.takeMedia(
            of: token.user, bytes: bytes, from: session.peerAddress, isGuest: token.isGuest)
        let answer = try await session.change(
            Statement(
                "api.create_media",
                "select api.create_media($1, $2, $3::bigint, $4::uuid, $5::int, $6::int, $7, $8::bigint)"),
            [
                purpose.rawValue, type.rawValue, "\(bytes)", params.uuid("conversation_id"), params.digits("width"),
                params.digits("height"), params.string("name"), "\(store.limits.user)",
            ])
        guard let created = answer.object, case .string(let text)? = created["id"], let id = ID(text) else {
            throw .fault("api.create_media returned an unexpected result")
        }
        let file = MediaFile(id: id, purpose: purpose, type: type, bytes: bytes)
        let upload = store.upload(of: file)
        var members: [JSONObject.Member] = [
            .init(name: "method", value: .string("PUT")), .init(name: "url", value: .string(upload.url)),
            .init(
                name: "headers",
                value: .object(JSONObject(upload.headers.map { .init(name: $0.name, value: .string($0.value)) }))),
            .init(name: "expires_at", value: .string(Timestamp.text(upload.expiresAt))),
        ]
        if let size = store.partBytes(of: file) { members.append(.init(name: "part_bytes", value: .integer(size))) }
        return Answer(.object(["id": .string("\(id)"), "upload": .object(JSONObject(members))]))
    }

    private static let mediaParts = Operation(
        "media.parts", .user, "Returns URLs for the next parts of a large file to upload, none once all are uploaded.",
        [Parameter("id", .uuid, "An unused file of the caller, created with part_bytes.")],
        result: .object([
            (
                "parts",
                .array(
                    of: .object([
                        ("start", .integer), ("bytes", .integer), ("url", .string), ("expires_at", .timestamp),
                    ]))
            )
        ]),
        errors: [.notFound, .forbidden]
    ) { session, params throws(ProtocolError) in
        let store = try session.service.requireMedia()
        guard let id = params.id("id") else { throw .fault("media.parts without an id") }
        let parts = try await session.missingParts(of: id, in: store)
        return Answer(
            .object([
                "parts": .array(
                    parts.map { part in
                        .object([
                            "start": .integer(part.start), "bytes": .integer(part.bytes), "url": .string(part.url),
                            "expires_at": .string(Timestamp.text(part.expiresAt)),
                        ])
                    })
            ]))
    }

    private static let mediaURLs = Operation(
        "media.urls", .user, "Returns URLs of files of messages, valid for some minutes.",
        [
            Parameter(
                "ids", .uuids(1...100),
                "The media ids of attachments and previews. Those that the caller may not see are left out.")
        ],
        result: .object([
            ("media", .array(of: .object([("id", .uuid), ("url", .string), ("expires_at", .timestamp)])))
        ]),
        errors: [.forbidden]
    ) { session, params throws(ProtocolError) in
        let store = try session.service.requireMedia()
        let answer = try await session.read(
            Statement("api.readable_media", "select api.readable_media($1::uuid[])"), [params.uuids("ids")])
        guard case .array(let files)? = answer.object?["media"] else {
            throw .fault("api.readable_media returned an unexpected result")
        }
        return Answer(
            .object([
                "media": .array(
                    files.compactMap { file -> JSON? in
                        guard case .object(let file) = file, case .string(let text)? = file["id"], let id = ID(text),
                            case .string(let text)? = file["mime_type"], let type = MediaType(rawValue: text)
                        else { return nil }
                        var name: String?
                        if case .string(let text)? = file["name"] { name = text }
                        let (url, expiresAt) = store.signedAddress(of: id, type, name: name)
                        return .object([
                            "id": .string("\(id)"), "url": .string(url),
                            "expires_at": .string(Timestamp.text(expiresAt)),
                        ])
                    })
            ]))
    }
}

extension MessagingService {
    /// - Throws: `forbidden` if no store is configured.
    func requireMedia() throws(ProtocolError) -> any MediaStore {
        guard let media else {
            throw ProtocolError(
                .forbidden, "This server stores no files: its operator can enable it with POSTLINE_MEDIA_….")
        }
        return media
    }

    /// - Throws: `unavailable` if the store has no room for this many bytes, or cannot be reached.
    func requireRoom(for bytes: Int, in store: any MediaStore) async throws(ProtocolError) {
        let hasRoom: Bool
        do {
            hasRoom = try await store.hasRoom(for: bytes)
        } catch {
            logger.warning("the media store cannot be reached", metadata: ["error": "\(error)"])
            throw ProtocolError(.unavailable, "The media store cannot be reached now. Try again.")
        }
        guard hasRoom else {
            logger.error("the media disk is almost full: media.create is rejected (POSTLINE_MEDIA_MIN_FREE_BYTES)")
            throw ProtocolError(
                .unavailable, "The server's disk is almost full, so it accepts no files now. Try again later.")
        }
    }
}

extension ConnectionSession {
    /// Checks that the bytes of a file were uploaded as announced, and returns its URL. The database rejects a file of
    /// another user, or one that is not waiting for use.
    ///
    /// - Parameter field: the name of the request's field with the file.
    /// - Throws: `invalid_params` if the bytes are missing or wrong; `unavailable` if the store cannot be reached.
    func address(
        ofFile id: ID, _ purpose: MediaFile.Purpose, field: String
    ) async throws(ProtocolError) -> String {
        let store = try service.requireMedia()
        let address = store.address(of: id, purpose)
        guard let waiting = try await waitingFile(id), !waiting.isStored, waiting.file.purpose == purpose else {
            return address
        }
        let verdict = try await service.fileChecks.run(for: owner) { [service] () throws(ProtocolError) in
            try await Self.asking(logger: service.logger) { try await store.accept(waiting.file) }
        }
        switch verdict {
        case .stored:
            _ = try await service.database.rows(
                Statement("app.record_stored_media", "select app.record_stored_media($1::uuid)"), ["\(id)"], as: .feed)
            return address
        case .missing: throw .invalid(field, "was not uploaded yet: PUT its bytes to the url from media.create")
        case .mismatch(let why): throw .invalid(field, why)
        }
    }

    /// Returns the parts of a file that were not uploaded yet.
    ///
    /// - Throws: `not_found` if the file is not the caller's, or is used; `forbidden` if it is uploaded whole;
    ///   `unavailable` if the store cannot be reached.
    fileprivate func missingParts(of id: ID, in store: any MediaStore) async throws(ProtocolError) -> [UploadPart] {
        guard let waiting = try await waitingFile(id) else { throw Self.noSuchFile }
        if waiting.isStored { return [] }
        let whole = ProtocolError(.forbidden, "This file is uploaded whole: PUT it to the url from media.create.")
        guard store.partBytes(of: waiting.file) != nil else { throw whole }
        let parts = try await service.fileChecks.run(for: owner) { [service] () throws(ProtocolError) in
            try await Self.asking(logger: service.logger) { try await store.missingParts(of: waiting.file) }
        }
        guard let parts else { throw whole }
        // The file may have been stored or removed before the upload in parts began, which nobody would end then.
        switch try await waitingFile(id) {
        case let waiting? where !waiting.isStored: return parts
        case let other:
            try await Self.asking(logger: service.logger) { try await store.removeUpload(id) }
            if other == nil { throw Self.noSuchFile }
            return []
        }
    }

    private static let noSuchFile = ProtocolError(.notFound, "There is no such file that waits for its use.")

    /// Returns the caller's unused file and whether its bytes are stored, or nil if there is none.
    private func waitingFile(_ id: ID) async throws(ProtocolError) -> (file: MediaFile, isStored: Bool)? {
        let answer = try await read(
            Statement("api.waiting_media", "select api.waiting_media($1::uuid)"), ["\(id)"])
        guard let waiting = answer.object, case .bool(let isStored)? = waiting["is_stored"],
            case .string(let text)? = waiting["purpose"], let purpose = MediaFile.Purpose(rawValue: text),
            case .string(let text)? = waiting["mime_type"], let type = MediaType(rawValue: text),
            case .number(let number)? = waiting["bytes"], let bytes = number.integer
        else { return nil }
        return (MediaFile(id: id, purpose: purpose, type: type, bytes: Int(bytes)), isStored)
    }

    /// Asks the store on a thread that is neither the database's nor a connection's.
    @concurrent
    private static func asking<Value: Sendable>(
        logger: Logger, _ body: @Sendable () async throws -> Value
    ) async throws(ProtocolError) -> Value {
        do {
            return try await body()
        } catch {
            logger.warning("the media store cannot be reached", metadata: ["error": "\(error)"])
            throw ProtocolError(.unavailable, "The media store cannot be reached now. Try again.")
        }
    }
}

extension JSONObject {
    /// Returns the object with the URL of its uploaded file added for the database. Without `media_id` it is unchanged.
    ///
    /// - Parameter path: the prefix of member names in errors.
    /// - Throws: `invalid_params`, `unavailable`.
    func locatingFile(
        _ purpose: MediaFile.Purpose, as member: String, path: String, in session: isolated ConnectionSession
    ) async throws(ProtocolError) -> JSONObject {
        let field = path + "media_id"
        switch self["media_id"] {
        case nil, .null: return JSONObject(members.filter { $0.name != "media_id" })
        case .string(let text)?:
            guard let id = ID(text) else { throw .invalid(field, "must be a UUID") }
            guard self[member] ?? .null == .null else {
                throw .invalid(path + member, "must be absent if media_id is given")
            }
            let address = try await session.address(ofFile: id, purpose, field: field)
            let others = members.filter { $0.name != member && $0.name != "media_id" }
            return JSONObject(
                others + [
                    .init(name: "media_id", value: .string("\(id)")), .init(name: member, value: .string(address)),
                ])
        case .some: throw .invalid(field, "must be a UUID")
        }
    }
}

extension Answer {
    /// The result as an object, or nil if it is not one.
    fileprivate var object: JSONObject? {
        switch content {
        case .result(let json):
            guard case .object(let object)? = try? JSON(parsing: json) else { return nil }
            return object
        case .failure: return nil
        }
    }
}
