import BoundedWait
import Foundation
import Foundations
import LineClient
import Media
import Messaging
import NIOCore
import NIOPosix
import Testing
@testable import WireProtocol

/// A folder for the pictures of a test's nodes.
struct PictureFolder: Sendable {
    let path: String

    /// Runs a body with a new folder, and deletes the folder afterwards.
    static func with<Value: Sendable>(_ body: @Sendable (PictureFolder) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-media-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(PictureFolder(path: folder.path))
    }

    /// Waits until the folder has this number of files.
    func has(_ count: Int) async throws {
        try await eventually("\(count) files") { try files.count == count }
    }

    /// The complete and incomplete files of pictures.
    var files: [String] {
        get throws {
            try FileManager.default.subpathsOfDirectory(atPath: path)
                .filter { $0.contains("/") && !$0.hasPrefix("used/") }
        }
    }

    /// Returns a node's store in the folder.
    func store(
        minFreeBytes: Int = 0, maxIncomingBytes: Int = 1 << 30,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws -> FolderStore {
        var settings = MediaSettings.Folder(
            directory: path, url: "http://127.0.0.1", secret: TestNode.secret,
            limits: MediaLimits(pictures: 1 << 20, others: 4 << 20),
            minFreeBytes: minFreeBytes)
        settings.maxIncomingBytes = maxIncomingBytes
        return try FolderStore(settings, now: now)
    }
}

/// Runs a body with a node that stores pictures in a new folder.
func withPictures(
    _ settings: NodeSettings = NodeSettings(), _ body: @Sendable (TestNode, PictureFolder) async throws -> Void
) async throws {
    try await PictureFolder.with { folder in
        var settings = settings
        settings.pictures = folder.path
        try await withNode(settings) { node in try await body(node, folder) }
    }
}

/// Returns a file without metadata that has the structure of its type. Its data are no image, since a store does not
/// decode them.
func picture(_ type: MediaType = .png, bytes: Int = 1_000) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
    let (first, last): ([UInt8], [UInt8]) =
        switch type {
        case .jpeg: ([0xFF, 0xD8, 0xFF, 0xDA, 0, 2], [0xFF, 0xD9])
        case .png: ([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + number(bytes - 20) + Array("IDAT".utf8), [])
        case .gif: (Array("GIF89a".utf8), [])
        case .webp:
            (
                Array("RIFF".utf8) + number(bytes - 8).reversed() + Array("WEBPVP8 ".utf8)
                    + number(bytes - 20).reversed(), []
            )
        case .heic:
            ([0, 0, 0, 24] + Array("ftypheic\0\0\0\0mif1heic".utf8) + number(bytes - 24) + Array("mdat".utf8), [])
        case .mp4: ([0, 0, 0, 24] + Array("ftypisom\0\0\0\0isommp42".utf8), [])
        case .mp4Audio: ([0, 0, 0, 24] + Array("ftypM4A \0\0\0\0M4A mp42".utf8), [])
        case .quickTime: ([0, 0, 0, 20] + Array("ftypqt  \0\0\0\0qt  ".utf8), [])
        case .webm, .webmAudio: ([0x1A, 0x45, 0xDF, 0xA3, 0x87, 0x42, 0x82, 0x84] + Array("webm".utf8), [])
        case .mp3: (Array("ID3\u{4}\0".utf8), [])
        case .ogg: (Array("OggS\0".utf8), [])
        case .wav: (Array("RIFF".utf8) + number(bytes - 8).reversed() + Array("WAVEfmt ".utf8), [])
        case .pdf: (Array("%PDF-1.7".utf8), [])
        case .zip: (Array("PK\u{3}\u{4}".utf8), [])
        case .text, .binary: ([], [])
        }
    // Without the byte that begins a marker of JPEG.
    let data = (first.count..<max(first.count, bytes - last.count)).map { UInt8($0 % 251) }
    return Array((first + data + last).prefix(bytes))
}

/// The response to a request on its own connection.
struct PictureAnswer: Sendable {
    let status: Int
    let head: String
    let body: [UInt8]

    init(_ bytes: [UInt8]) throws {
        let end = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("\r\n\r\n".utf8)) })
        head = String(decoding: bytes[..<end], as: UTF8.self)
        body = Array(bytes[(end + 4)...])
        status = try #require(head.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }

    /// Sends a request to a URL of this machine, and returns the response.
    ///
    /// - Parameter headers: Lines, without Host and Connection.
    static func request(
        _ method: String, _ url: String, headers: [String] = [], body: [UInt8] = []
    ) async throws -> PictureAnswer {
        let address = try #require(URL(string: url))
        let head = (["\(method) \(target(of: url)) HTTP/1.1", "Host: localhost", "Connection: close"] + headers)
            .joined(separator: "\r\n")
        let peer = try await RawSocketClient.connect(port: try #require(address.port))
        return try PictureAnswer(try await peer.exchange(Array((head + "\r\n\r\n").utf8) + body))
    }

    /// Returns the part of a URL after the host.
    static func target(of url: String) -> Substring {
        url.dropFirst(url.prefix { $0 != "/" }.count + 2).drop { $0 != "/" }
    }

    static func get(_ url: String) async throws -> PictureAnswer { try await request("GET", url) }

    static func put(
        _ body: [UInt8], to url: String, type: MediaType = .png, length: Int? = nil
    ) async throws -> PictureAnswer {
        try await request(
            "PUT", url, headers: ["Content-Type: \(type.rawValue)", "Content-Length: \(length ?? body.count)"],
            body: body)
    }
}

extension TestClient {
    /// Requests an upload URL. Returns the picture's id and the URL.
    func promise(
        _ purpose: MediaFile.Purpose, in conversation: String? = nil, type: MediaType = .png, bytes: Int = 1_000,
        name: String? = nil
    ) async throws -> (id: String, url: String) {
        var params: [JSONObject.Member] = [
            .init(name: "purpose", value: .string(purpose.rawValue)),
            .init(name: "mime_type", value: .string(type.rawValue)), .init(name: "bytes", value: .integer(bytes)),
        ]
        if let conversation { params.append(.init(name: "conversation_id", value: .string(conversation))) }
        if let name { params.append(.init(name: "name", value: .string(name))) }
        let answer = try await call("media.create", JSONObject(params))
        return (
            try #require(answer["id"]?.stringValue), try #require(answer["upload"]?["url"]?.stringValue)
        )
    }

    /// Uploads a file, and returns its id.
    func upload(
        _ purpose: MediaFile.Purpose, in conversation: String? = nil, type: MediaType = .png, bytes: Int = 1_000,
        name: String? = nil
    ) async throws -> String {
        let (id, url) = try await promise(purpose, in: conversation, type: type, bytes: bytes, name: name)
        let answer = try await PictureAnswer.put(picture(type, bytes: bytes), to: url, type: type)
        #expect(answer.status == 204, "\(answer.head)")
        return id
    }

    /// Uploads a picture, sets it as the avatar, and returns its URL.
    func wear(type: MediaType = .png, bytes: Int = 1_000) async throws -> String {
        let id = try await upload(.avatar, type: type, bytes: bytes)
        let me = try await call("me.set_avatar", ["avatar_type": "custom", "media_id": .string(id)])
        return try #require(me["avatar_url"]?.stringValue)
    }

    /// Uploads a picture and sends it.
    func sendPicture(to conversation: String) async throws -> JSON {
        let id = try await upload(.message, in: conversation)
        return try await call(
            "messages.send",
            [
                "conversation_id": .string(conversation), "kind": "image",
                "attachment": .object(["media_id": .string(id)]),
            ])
    }

    /// Returns the current address of a picture, or nil if this client cannot see it.
    func address(of id: String) async throws -> String? {
        try await call("media.urls", ["ids": .array([.string(id)])])["media"]?.arrayValue?.first?["url"]?.stringValue
    }
}
