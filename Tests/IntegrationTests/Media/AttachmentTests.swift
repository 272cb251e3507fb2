import Foundation
import Foundations
import LineClient
import Media
import Messaging
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Attachments")
struct AttachmentTests {
    private static func send(
        _ kind: String, _ attachments: [JSONObject], as client: TestClient, _ more: JSONObject = [:]
    ) async throws -> JSON {
        let members: [JSONObject.Member] = [
            .init(name: "conversation_id", value: .string(Room.aliceBob)), .init(name: "kind", value: .string(kind)),
            .init(name: "attachments", value: .array(attachments.map { .object($0) })),
        ]
        return try await client.call("messages.send", JSONObject(members + more.members))
    }

    /// Returns the field that a request is refused for, or nil if it succeeds.
    private static func wrongField(
        _ method: String, _ params: JSONObject, as client: TestClient
    ) async throws -> String? {
        do {
            _ = try await client.call(method, params)
            return nil
        } catch let error as RemoteError {
            return error.field
        }
    }

    @Test("members read the files of a message of every type, and nobody else does")
    func everyType() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let stranger = try await node.stranger()
            for types in [MediaType.allCases.prefix(10), MediaType.allCases.dropFirst(10)] {
                var attachments: [JSONObject] = []
                for type in types {
                    let id = try await alice.upload(
                        .message, in: Room.aliceBob, type: type, bytes: 5_000, name: "ä \(attachments.count)")
                    attachments.append(["media_id": .string(id)])
                }
                let kind = try #require(types.first?.rawValue.split(separator: "/").first)
                let message = try await Self.send(String(kind), attachments, as: alice)
                expectMessage(message)
                #expect(message["kind"] == .string(String(kind)))
                #expect(message["content"] == .string(kind == "image" ? "" : "ä 0"))
                for (index, type) in types.enumerated() {
                    let attachment = try #require(message["attachments"]?[index])
                    #expect(attachment["mime_type"] == .string(type.rawValue))
                    #expect(attachment["bytes"] == 5_000 && attachment["name"] == .string("ä \(index)"))
                    let id = try #require(attachment["media_id"]?.stringValue)
                    #expect(try await stranger.address(of: id) == nil)
                    let answer = try await PictureAnswer.get(try #require(try await bob.address(of: id)))
                    #expect(answer.status == 200 && answer.body == picture(type, bytes: 5_000))
                    let contentType = type == .text ? "text/plain; charset=utf-8" : type.rawValue
                    let name = "filename=\"_ \(index)\"; filename*=UTF-8''%C3%A4%20\(index)"
                    let disposition =
                        type.isPicture ? "inline" : type.isShownInline ? "inline; \(name)" : "attachment; \(name)"
                    for line in [
                        "Content-Type: \(contentType)\r\n", "X-Content-Type-Options: nosniff",
                        "Content-Security-Policy: default-src 'none'; sandbox",
                        "Content-Disposition: \(disposition)\r\n",
                    ] { #expect(answer.head.contains(line), "\(answer.head)") }
                }
            }
            #expect(try folder.files.count == MediaType.allCases.count)
        }
    }

    @Test("altered addresses of a file show nothing")
    func altered() async throws {
        try await withPictures { node, _ in
            let alice = try await node.signedIn(.alice)
            let id = try await alice.upload(.message, in: Room.aliceBob, type: .pdf, name: "a.pdf")
            _ = try await Self.send("file", [["media_id": .string(id)]], as: alice)
            let url = try #require(try await alice.address(of: id))
            #expect(try await PictureAnswer.get(url).status == 200)
            for wrong in [
                url.replacing("application%2Fpdf", with: "text%2Fplain"),
                url.replacing("application%2Fpdf", with: "text%2Fhtml"), url.replacing("a.pdf", with: "b.pdf"),
                url.replacing("name=a.pdf&", with: ""), url.replacing("type=application%2Fpdf&", with: ""),
                url.replacing("type=application%2Fpdf&name=a.pdf&", with: ""),
            ] { #expect(try await PictureAnswer.get(wrong).status == 404, "\(wrong)") }
        }
    }

    @Test("a preview is read, used and removed with its file")
    func preview() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let video = try await alice.upload(.message, in: Room.aliceBob, type: .mp4)
            let preview = try await alice.upload(.message, in: Room.aliceBob, type: .jpeg)
            let file = try await alice.upload(.message, in: Room.aliceBob, type: .zip)
            let message = try await Self.send(
                "video",
                [
                    [
                        "media_id": .string(video), "preview_media_id": .string(preview.uppercased()),
                        "duration_ms": 1_500,
                    ], ["media_id": .string(file)],
                ], as: alice)
            #expect(message["attachment"]?["preview_media_id"] == .string(preview))
            #expect(message["attachments"]?[0]?["duration_ms"] == 1_500)
            let url = try #require(try await bob.address(of: preview))
            #expect(try await PictureAnswer.get(url).body == picture(.jpeg))
            try await folder.has(3)
            _ = try await alice.call(
                "messages.delete", ["conversation_id": .string(Room.aliceBob), "seq": message["seq"] ?? 0])
            try await folder.has(0)
            for id in [video, preview, file] { #expect(try await bob.address(of: id) == nil) }
        }
    }

    @Test("refuses files over the limit of their class, and of other content than announced")
    func refusedFiles() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            func create(_ type: String, _ bytes: Int, _ more: JSONObject = [:]) async throws -> String? {
                let members: [JSONObject.Member] = [
                    .init(name: "purpose", value: "message"), .init(name: "mime_type", value: .string(type)),
                    .init(name: "bytes", value: .integer(bytes)),
                    .init(name: "conversation_id", value: .string(Room.aliceBob)),
                ]
                return try await Self.wrongField("media.create", JSONObject(members + more.members), as: alice)
            }
            // The limits of the tests are 1 MiB and 4 MiB.
            #expect(try await create("image/png", 1 << 20) == nil)
            #expect(try await create("image/png", 1 << 20 + 1) == "bytes")
            #expect(try await create("video/mp4", 4 << 20) == nil)
            #expect(try await create("video/mp4", 4 << 20 + 1) == "bytes")
            #expect(try await create("text/html", 10) == "mime_type")
            #expect(try await create("application/octet-stream", 10) == "name")
            #expect(try await create("application/octet-stream", 10, ["name": "a\u{202E}b"]) == "name")
            #expect(try await create("application/octet-stream", 10, ["name": "a.bin"]) == nil)
            for type in MediaType.allCases where ![.text, .binary].contains(type) {
                let (_, url) = try await alice.promise(.message, in: Room.aliceBob, type: type, bytes: 100)
                let html = Array("<html><script>alert(1)</script>".utf8) + [UInt8](repeating: 32, count: 69)
                let answer = try await PictureAnswer.put(html, to: url, type: type)
                #expect(answer.status == 400, "\(type)")
                #expect(String(decoding: answer.body, as: UTF8.self).contains("by its first bytes"))
            }
            try await folder.has(0)
        }
    }

    @Test("names the path of a wrong attachment")
    func paths() async throws {
        try await withPictures { node, _ in
            let alice = try await node.signedIn(.alice)
            let one: JSONObject = ["url": "https://a.example.com/a.zip"]
            func field(_ kind: String, _ attachments: JSON, _ more: JSONObject = [:]) async throws -> String? {
                let members: [JSONObject.Member] = [
                    .init(name: "conversation_id", value: .string(Room.aliceBob)),
                    .init(name: "kind", value: .string(kind)), .init(name: "attachments", value: attachments),
                ]
                return try await Self.wrongField("messages.send", JSONObject(members + more.members), as: alice)
            }
            let id = JSON.string(ID.random().description)
            #expect(try await field("file", .array([])) == "attachments")
            #expect(try await field("file", .array(Array(repeating: .object(one), count: 11))) == "attachments")
            #expect(try await field("file", .array(Array(repeating: .object(one), count: 10))) == nil)
            #expect(try await field("file", .object(one)) == "attachments")
            #expect(try await field("file", .array([.object(one), 1])) == "attachments[1]")
            #expect(try await field("file", .array([.object(one)]), ["attachment": .object(one)]) == "attachments")
            #expect(
                try await field("file", .array([.object(one), .object(["media_id": id])])) == "attachments[1].media_id")
            #expect(try await field("file", .array([.object(["media_id": id])])) == "attachments[0].media_id")
            #expect(
                try await field("file", .array([.object(one), .object(["media_id": "x"])])) == "attachments[1].media_id"
            )
            #expect(
                try await field("file", .array([.object(["url": "https://a.example.com/a", "preview_media_id": id])]))
                    == "attachments[0].preview_media_id")
            #expect(
                try await field("file", .array([.object(one), .object(["url": "https://a.example.com", "x": 1])]))
                    == "attachments[1]")
            #expect(
                try await field("file", .array([.object(["url": "https://a.example.com/a", "more": .array([])])]))
                    == "attachments[0].more")
            #expect(try await field("video", .null) == "attachment")
            #expect(try await field("text", .array([.object(one)])) == "content")
        }
    }

    @Test("a repeated send returns the message, and a text may have attachments")
    func repeated() async throws {
        try await withPictures { node, _ in
            let alice = try await node.signedIn(.alice)
            let id = try await alice.upload(.message, in: Room.aliceBob, type: .pdf, name: "a.pdf")
            let key: JSONObject = ["client_id": .string(ID.random().description), "content": "A text"]
            let attachments: [JSONObject] = [
                ["media_id": .string(id)], ["url": "https://a.example.com/b", "duration_ms": 1.0],
            ]
            let message = try await Self.send("text", attachments, as: alice, key)
            #expect(message["kind"] == "text" && message["attachments"]?[1]?["duration_ms"] == 1)
            #expect(try await Self.send("text", attachments, as: alice, key) == message)
            await #expect(throws: (any Error).self) {
                _ = try await Self.send("text", Array(attachments.prefix(1)), as: alice, key)
            }
        }
    }
}
