import Accounts
import BoundedWait
import Foundation
import Foundations
import LineClient
@testable import Media
import Messaging
import NIOCore
import Synchronization
import TestSupport
import Testing
import WireProtocol

@Suite("Media")
struct MediaTests {
    @Test("an avatar of each type is public until the next one replaces it", .covers("B17"))
    func avatars() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            for type in MediaType.allCases where type.isPicture {
                let url = try await alice.wear(type: type, bytes: 100_000)
                let answer = try await PictureAnswer.get(url)
                #expect(answer.status == 200 && answer.body == picture(type, bytes: 100_000))
                for line in [
                    "Content-Type: \(type.rawValue)", "X-Content-Type-Options: nosniff", "max-age=31536000, immutable",
                    "default-src 'none'; sandbox",
                ] { #expect(answer.head.contains(line), "\(answer.head)") }
                let head = try await PictureAnswer.request("HEAD", url)
                #expect(head.status == 200 && head.body.isEmpty && head.head.contains("Content-Length: 100000"))
                #expect(try await alice.call("me.get")["avatar_url"] == .string(url))
                try await folder.has(1)
            }
            // me.save sets an avatar, too. Removing the avatar removes the picture.
            let id = try await alice.upload(.avatar)
            let avatar: JSON = .object(["avatar_type": "custom", "media_id": .string(id)])
            let me = try await alice.call("me.save", ["bio": "Look.", "avatar": avatar])
            #expect(me["bio"] == "Look." && me["avatar_url"]?.stringValue?.hasSuffix(id) == true)
            _ = try await alice.call("me.set_avatar", ["avatar_type": .null])
            try await folder.has(0)
        }
    }

    @Test(
        "a message's picture is visible to current members until it is deleted",
        .covers("C38"))
    func members() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            let carol = try await node.signedIn(.carol)
            let stranger = try await node.stranger()
            let group = try await node.database.makeGroup("Views", [Person.alice.id, Person.carol.id])
            let sent = try await carol.sendPicture(to: group)
            let attachment = try #require(sent["attachment"])
            #expect(attachment["mime_type"] == "image/png" && attachment["bytes"] == 1_000)
            let id = try #require(attachment["media_id"]?.stringValue)
            for reader in [alice, carol] {
                let url = try #require(try await reader.address(of: id))
                let answer = try await PictureAnswer.get(url)
                #expect(answer.status == 200 && answer.body == picture())
                #expect(answer.head.contains("Cache-Control: private, max-age="))
            }
            #expect(try await stranger.address(of: id) == nil)
            // The permanent URL and altered URLs show nothing.
            let lasting = try #require(attachment["url"]?.stringValue)
            #expect(try await PictureAnswer.get(lasting).status == 404)
            let url = try #require(try await alice.address(of: id))
            let other = try #require(try await alice.sendPicture(to: group)["attachment"]?["media_id"]?.stringValue)
            for wrong in [
                url.replacing("expires=", with: "expires=9"), url.replacing(id, with: other), url + "&x=1",
                String(url.dropLast()), url.replacing("signature=", with: "signature=00"),
            ] { #expect(try await PictureAnswer.get(wrong).status == 404, "\(wrong)") }
            // A removed member cannot read pictures, not even her own.
            _ = try await alice.call(
                "conversations.remove_member", ["conversation_id": .string(group), "user_id": .string(Person.carol.id)])
            #expect(try await carol.address(of: id) == nil)
            #expect(try await alice.address(of: id) != nil)
            #expect(try folder.files.count == 2)
            _ = try await alice.call("messages.delete", ["conversation_id": .string(group), "seq": sent["seq"] ?? 0])
            #expect(try await alice.address(of: id) == nil)
            try await folder.has(1)
            #expect(try await PictureAnswer.get(url).status == 404)
        }
    }

    @Test("survives any query of a picture's URL", arguments: ["GET", "PUT"])
    func queries(_ method: String) async throws {
        try await withPictures { node, _ in
            let numbers = [
                "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "0", "-1",
                "+1", "1e300", "1e-300", "NaN", "inf", "0x7fffffffffffffff", "4102444800", "99999999999999999999999",
                "%00", "", "٣", " 1",
            ]
            let id = ID.random()
            for number in numbers {
                let other = method == "PUT" ? "&for=avatar&type=image%2Fpng&bytes=\(number)" : ""
                for query in [
                    "expires=\(number)&signature=00\(other)", "expires=1\(other)&signature=\(number)",
                    "expires=\(number)&expires=\(number)&signature=00", "\(number)=\(number)",
                ] {
                    let target = "/v1/media/\(id)?\(query.replacing(" ", with: "%20").replacing("٣", with: "%D9%A3"))"
                    let status = try await PictureAnswer.request(method, "http://127.0.0.1:\(node.httpPort)\(target)")
                        .status
                    #expect((400..<500).contains(status), "\(target)")
                }
            }
        }
    }

    @Test("counts requests of pictures for the rate limit of the client's address")
    func counted() async throws {
        try await PictureFolder.with { folder in
            try await withNode(NodeSettings(rates: .withoutRefill, pictures: folder.path)) { node in
                let alice = try await node.signedIn(.alice)
                try await node.countRequests(5_000)
                let before = node.delayedRequests
                let url = try await alice.wear(type: .png, bytes: 1_000)
                #expect(node.delayedRequests == before + 1, "the upload")
                _ = try await PictureAnswer.get(url)
                #expect(node.delayedRequests == before + 2, "the download")
                let forged = "http://127.0.0.1:\(node.httpPort)/v1/media/\(ID.random())?signature=00"
                _ = try await PictureAnswer.request("PUT", forged)
                #expect(node.delayedRequests == before + 3, "a forged upload")
            }
        }
    }

    @Test("row 67: rejects and discards uploads of another size or type, late, forged or repeated")
    func refused() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            func put(
                _ body: [UInt8], _ type: MediaType = .png, length: Int? = nil,
                at change: (String) -> String = { $0 }
            ) async throws -> Int {
                let url = try await alice.promise(.avatar).url
                return try await PictureAnswer.put(body, to: change(url), type: type, length: length).status
            }
            #expect(try await put(picture(bytes: 999)) == 400)
            #expect(try await put(picture(bytes: 1_001)) == 400)
            #expect(try await put(picture(.jpeg)) == 400)
            #expect(try await put(picture(.jpeg), .jpeg) == 400)
            let html = Array("<html><script>alert(1)</script>".utf8) + [UInt8](repeating: 32, count: 969)
            let svg = Array("<svg xmlns='http://www.w3.org/2000/svg'>".utf8) + [UInt8](repeating: 32, count: 960)
            #expect(try await put(html) == 400)
            #expect(try await put(svg) == 400)
            for change: (String) -> String in [
                { $0.replacing("bytes=1000", with: "bytes=1001") },
                { $0.replacing("type=image%2Fpng", with: "type=image%2Fjpeg") },
                { $0.replacing("for=avatar", with: "for=message") },
                { $0.replacing("expires=", with: "expires=9") },
                { $0.replacing("/v1/media/", with: "/v1/media/0") }, { String($0.dropLast()) },
                { $0.replacing("/v1/media/", with: "/v1/media/..%2F") },
                { String($0.prefix { $0 != "?" }) },
            ] { #expect(try await put(picture(), at: change) == 403) }
            #expect(try await put(picture()) { $0 + "&bytes=1001" } == 400)
            // An upload that ends early, and one without a length.
            let url = try await alice.promise(.avatar).url
            let start = "PUT \(PictureAnswer.target(of: url)) HTTP/1.1\r\nHost: h\r\n"
            let cut = try await RawSocketClient.connect(port: node.httpPort)
            let half = Array((start + "Content-Length: 1000\r\n\r\n").utf8) + picture().prefix(500)
            try await cut.sendAndClose(half)
            let chunked = try await RawSocketClient.connect(port: node.httpPort)
            let answer = try await chunked.exchange(
                Array((start + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n").utf8))
            #expect(try PictureAnswer(answer).status == 411)
            try await folder.has(0)
            // The media cannot be used.
            let id = try await alice.promise(.avatar).id
            for media in [id, nobody] {
                try await alice.refused(
                    .invalidParams, "me.set_avatar", ["avatar_type": "custom", "media_id": .string(media)],
                    field: "media_id")
            }
            // Of two simultaneous uploads one is stored completely. A third is rejected.
            let twice = try await alice.promise(.avatar)
            async let one = PictureAnswer.put(picture(), to: twice.url).status
            async let two = PictureAnswer.put(picture(), to: twice.url).status
            let both = try await [one, two].sorted()
            #expect(both[0] == 204 && both[1] >= 400)
            #expect(try await PictureAnswer.put(picture(), to: twice.url).status == 409)
            try await eventually("one upload to be stored") { try folder.files == ["avatars/\(twice.id)"] }
            // An upload byte by byte is one picture.
            let slow = try await alice.promise(.avatar, bytes: 100)
            let path = PictureAnswer.target(of: slow.url)
            let peer = try await RawSocketClient.connect(port: node.httpPort)
            let head = Array("PUT \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 100\r\n\r\n".utf8)
            #expect(
                try PictureAnswer(try await peer.exchangeByByte(head + picture(bytes: 100))).status == 204)
            // A size above the limit, and a node without a picture store.
            try await alice.refused(
                .invalidParams, "media.create",
                ["purpose": "avatar", "mime_type": "image/png", "bytes": .integer(1_048_577)], field: "bytes")
        }
        var none = NodeSettings()
        none.keepsPictures = false
        try await withNode(none) { node in
            let alice = try await node.signedIn(.alice)
            try await alice.refused(
                .forbidden, "media.create", ["purpose": "avatar", "mime_type": "image/png", "bytes": 10])
            try await alice.refused(.forbidden, "media.urls", ["ids": [.string(nobody)]])
        }
    }

    @Test("erases the metadata of uploads and refuses damaged ones")
    func metadata() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            for (name, type) in [
                ("turned.jpg", MediaType.jpeg), ("turned.png", .png), ("turned.webp", .webp), ("turned.heic", .heic),
            ] {
                let file = try Data(contentsOf: Repository.url("Tests/PostlineTests/Fixtures/Pictures/\(name)"))
                let (id, url) = try await alice.promise(.avatar, type: type, bytes: file.count)
                #expect(try await PictureAnswer.put(Array(file), to: url, type: type).status == 204)
                let me = try await alice.call("me.set_avatar", ["avatar_type": "custom", "media_id": .string(id)])
                let shown = try await PictureAnswer.get(try #require(me["avatar_url"]?.stringValue))
                #expect(shown.status == 200 && shown.body.count == file.count && shown.body != Array(file))
                #expect(file.range(of: Data("ecret".utf8)) != nil)
                #expect(Data(shown.body).range(of: Data("ecret".utf8)) == nil, "\(name)")
                try await folder.has(1)
            }
            let (_, url) = try await alice.promise(.avatar, type: .jpeg, bytes: 1_000)
            let damaged = [0xFF, 0xD8, 0xFF, 0xE1, 0, 1] + [UInt8](repeating: 7, count: 994)
            let answer = try await PictureAnswer.put(damaged, to: url, type: .jpeg)
            #expect(answer.status == 400)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("a JPEG segment has the length 1"))
            try await folder.has(1)
            #expect(try await PictureAnswer.put(picture(.jpeg), to: url, type: .jpeg).status == 204)
        }
    }

    @Test("only its uploader sends a picture, once and in its conversation")
    func sentOnce() async throws {
        try await withPictures { node, _ in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let id = try await alice.upload(.message, in: Room.aliceBob)
            func params(_ room: String, _ key: String) -> JSONObject {
                [
                    "conversation_id": .string(room), "kind": "image", "client_id": .string(key),
                    "attachment": .object(["media_id": .string(id), "blurhash": "LEHV6nWB2yk8pyo0adR*.7kCMdnj"]),
                ]
            }
            let keys = (1...3).map { "00000000-0000-4000-8000-00000000000\($0)" }
            try await bob.refused(
                .invalidParams, "messages.send", params(Room.aliceBob, keys[0]), field: "attachment.media_id")
            try await alice.refused(
                .invalidParams, "messages.send", params(Room.aliceCarol, keys[0]), field: "attachment.media_id")
            let sent = try await alice.call("messages.send", params(Room.aliceBob, keys[1]))
            #expect(sent["attachment"]?["blurhash"] == "LEHV6nWB2yk8pyo0adR*.7kCMdnj")
            #expect(try await alice.call("messages.send", params(Room.aliceBob, keys[1]))["id"] == sent["id"])
            try await alice.refused(
                .invalidParams, "messages.send", params(Room.aliceBob, keys[2]), field: "attachment.media_id")
            // A repeated send is the same message, even after the message is deleted.
            let place: JSONObject = ["conversation_id": .string(Room.aliceBob), "seq": sent["seq"] ?? 0]
            _ = try await alice.call("messages.delete", place)
            #expect(try await alice.call("messages.send", params(Room.aliceBob, keys[1]))["id"] == sent["id"])
        }
    }

    @Test("checks one upload of a user at a time, and two of an address")
    func checks() async throws {
        try await withPictures(NodeSettings(rates: .withoutRefill)) { node, _ in
            let (alice, bob, carol) = (
                try await node.signedIn(.alice), try await node.signedIn(.bob), try await node.signedIn(.carol)
            )
            func send(_ client: TestClient, in room: String) async throws -> JSON {
                let id = try await client.upload(.message, in: room)
                return try await client.call(
                    "messages.send",
                    ["conversation_id": .string(room), "kind": "image", "attachment": ["media_id": .string(id)]])
            }
            func hold(_ person: Person) async throws -> (end: AsyncStream<Void>.Continuation, Task<Void, any Error>) {
                let (begun, end) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
                // It ends with the stream.
                let task = Task {
                    try await node.withFileCheck(by: person) {
                        begun.continuation.finish()
                        for await _ in end.stream {}
                    }
                }
                for await _ in begun.stream {}
                return (end.continuation, task)
            }
            let first = try await hold(.alice)
            async let hers = send(alice, in: Room.aliceBob)
            try await eventually("her check waits") { await node.waitingFileChecks == 1 }
            _ = try await send(bob, in: Room.aliceBob)
            let second = try await hold(.bob)
            async let others = send(carol, in: Room.aliceCarol)
            try await eventually("both checks wait") { await node.waitingFileChecks == 2 }
            for (end, task) in [first, second] {
                end.finish()
                try await task.value
            }
            _ = try await (hers, others)
        }
    }

    @Test("removes unused pictures after a day")
    func orphans() async throws {
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            _ = try await alice.wear()
            let (waiting, _) = try await alice.promise(.avatar)
            let stored = try await alice.upload(.message, in: Room.aliceBob)
            #expect(try folder.files.count == 2)
            try await node.database.psql("update public.media set created_at = now() - interval '25 hours'")
            try await folder.has(1)
            try await node.database.wait(for: "select count(*) from public.media", toBe: "1")
            for id in [waiting, stored] {
                try await alice.refused(
                    .invalidParams, "messages.send",
                    [
                        "conversation_id": .string(Room.aliceBob), "kind": "image",
                        "attachment": .object(["media_id": .string(id)]),
                    ], field: "attachment.media_id")
            }
        }
    }

    @Test("an upload URL accepts one picture, on every node with the folder")
    func usedOnce() async throws {  // A6
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            func isRefused(_ url: String) async throws {
                #expect(try await PictureAnswer.put(picture(), to: url).status == 409)
            }
            // A picture that is unused, in use, and no longer in use.
            let first = try await alice.promise(.avatar)
            #expect(try await PictureAnswer.put(picture(), to: first.url).status == 204)
            try await isRefused(first.url)
            let avatar: JSONObject = ["avatar_type": "custom", "media_id": .string(first.id)]
            _ = try await alice.call("me.set_avatar", avatar)
            try await isRefused(first.url)
            _ = try await alice.call("me.set_avatar", ["avatar_type": .null])
            try await folder.has(0)
            try await isRefused(first.url)
            // A picture whose row is deleted by the database's owner.
            let second = try await alice.promise(.message, in: Room.aliceBob)
            #expect(try await PictureAnswer.put(picture(), to: second.url).status == 204)
            try await node.database.psql("update media set stored_at = now() where id = '\(second.id)'")
            try await node.database.psql("delete from media where id = '\(second.id)'")
            try await folder.has(0)
            try await isRefused(second.url)
            // A node that starts later also knows the used URL, after its cleanup.
            let later = try folder.store()
            try await later.tidy()
            #expect(throws: UploadRefusal.used) {
                let picture = MediaFile(id: try #require(ID(second.id)), purpose: .message, type: .png, bytes: 1_000)
                _ = try later.receive(picture, from: AddressKey("192.0.2.1"), until: Date() + 60)
            }
            try await isRefused(second.url)
            // A failed upload does not use the URL.
            let third = try await alice.promise(.avatar)
            #expect(try await PictureAnswer.put(picture(.jpeg), to: third.url).status == 400)
            #expect(try await PictureAnswer.put(picture(), to: third.url).status == 204)
            try await isRefused(third.url)
            #expect(try folder.files == ["avatars/\(third.id)"])
        }
    }

    @Test("removes the marker of a used URL only after the URL has expired")
    func marks() async throws {  // A6
        try await PictureFolder.with { folder in
            let store = try folder.store()
            let picture = Self.file(10)
            func receive(until expires: Date) throws -> IncomingFile {
                let incoming = try store.receive(picture, from: AddressKey("192.0.2.1"), until: expires)
                try incoming.write(ByteBuffer(bytes: IntegrationTests.picture(bytes: 10)))
                return incoming
            }
            let late = try receive(until: Date() - 1)
            #expect(throws: MediaError.self) { try late.finish() }
            try receive(until: Date() + 60).finish()
            try await store.remove(picture.id, .avatar)
            #expect(throws: UploadRefusal.used) { try receive(until: Date() + 60) }
            let marker = "\(folder.path)/used/\(picture.id)"
            for (age, isThere) in [(3_700.0, true), (7_100, true), (7_300, false)] {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date() - age], ofItemAtPath: marker)
                try await store.tidy()
                #expect(FileManager.default.fileExists(atPath: marker) == isThere, "\(age)")
            }
        }
    }

    @Test("keeps a URL usable if the picture cannot be moved to its place")
    func failedLink() async throws {
        try await PictureFolder.with { folder in
            let store = try folder.store()
            let picture = Self.file(10)
            func receive() throws -> IncomingFile {
                let incoming = try store.receive(picture, from: AddressKey("192.0.2.1"), until: Date() + 60)
                try incoming.write(ByteBuffer(bytes: IntegrationTests.picture(bytes: 10)))
                return incoming
            }
            let (place, elsewhere) = ("\(folder.path)/avatars", "\(folder.path)/elsewhere")
            try FileManager.default.moveItem(atPath: place, toPath: elsewhere)
            let failing = try receive()
            #expect(throws: MediaError.self) { try failing.finish() }
            try FileManager.default.moveItem(atPath: elsewhere, toPath: place)
            try receive().finish()
            #expect(try folder.files == ["avatars/\(picture.id)"])
        }
    }

    @Test("limits uploads by client address and by node")
    func atOnce() async throws {  // A7
        try await PictureFolder.with { folder in
            let store = try folder.store(maxIncomingBytes: 1_000)
            func receive(_ id: ID, _ bytes: Int, from client: String = ID.random().description) throws
                -> IncomingFile
            {
                try store.receive(Self.file(bytes, id: id), from: client)
            }
            let id = ID.random()
            let first = try receive(id, 600)
            #expect(throws: UploadRefusal.inProgress) { try receive(id, 600) }
            #expect(throws: UploadRefusal.busy) { try receive(.random(), 401) }
            let second = try receive(.random(), 400)
            #expect(throws: UploadRefusal.busy) { try receive(.random(), 1) }
            first.discard()
            first.discard()
            #expect(throws: UploadRefusal.busy) { try receive(.random(), 601) }
            let again = try receive(id, 600)
            #expect(throws: MediaError.self) { try again.finish() }
            second.discard()
            let all = try receive(.random(), 1_000)
            all.discard()
            var parts = try (1...2).map { _ in try receive(.random(), 100, from: "192.0.2.1") }
            #expect(throws: UploadRefusal.addressBusy) { try receive(.random(), 51, from: "192.0.2.1") }
            parts.append(try receive(.random(), 50, from: "192.0.2.1"))
            #expect(throws: UploadRefusal.addressBusy) { try receive(.random(), 1, from: "192.0.2.1") }
            parts[0].discard()
            parts.append(try receive(.random(), 100, from: "192.0.2.1"))
            parts.append(try receive(.random(), 750, from: "192.0.2.2"))
        }
    }

    @Test("displaces the slowest upload of the largest client when the node is full")
    func displaced() async throws {
        try await PictureFolder.with { folder in
            let time = Mutex(ContinuousClock.now)
            let store = try folder.store(maxIncomingBytes: 1_000_000, now: { time.withLock { $0 } })
            func receive(_ bytes: Int, from client: String) throws -> IncomingFile {
                try store.receive(Self.file(bytes), from: client)
            }
            let held = try (1...4).map { client in
                try [125_000, 125_000].map { try receive($0, from: "192.0.2.\(client)") }
            }
            for uploads in held {
                try uploads[0].write(ByteBuffer(repeating: 0, count: 100_000))
                try uploads[1].write(ByteBuffer(repeating: 0, count: 50_000))
            }
            time.withLock { $0 += .seconds(5) }
            let late = try receive(125_000, from: "192.0.2.9")
            let displaced = held.joined().filter { upload in
                do {
                    try upload.write(ByteBuffer(string: "x"))
                    return false
                } catch {
                    return "\(error)".contains("was slow")
                }
            }
            #expect(displaced.count == 1)
            #expect(held.contains { $0[1] === displaced.first })
            try late.write(ByteBuffer(string: "x"))
            // Nobody holds more than this client would.
            #expect(throws: UploadRefusal.busy) { try receive(125_000, from: "192.0.2.9") }
            // A client keeps its only upload.
            for upload in held.joined() { upload.discard() }
            late.discard()
            let only = try receive(900_000, from: "192.0.2.5")
            #expect(throws: UploadRefusal.busy) { try receive(200_000, from: "192.0.2.6") }
            try only.write(ByteBuffer(string: "x"))
        }
    }

    @Test("displaces an upload that is too slow when the node is full")
    func slow() async throws {
        try await PictureFolder.with { folder in
            let time = Mutex(ContinuousClock.now)
            let store = try folder.store(maxIncomingBytes: 1_000_000, now: { time.withLock { $0 } })
            func receive(_ bytes: Int, from client: String) throws -> IncomingFile {
                try store.receive(Self.file(bytes), from: client)
            }
            let slow = try receive(500_000, from: "192.0.2.1")
            let fast = try receive(500_000, from: "192.0.2.2")
            #expect(throws: UploadRefusal.busy) { try receive(500_000, from: "192.0.2.3") }
            try fast.write(ByteBuffer(repeating: 0, count: 21_000))
            try slow.write(ByteBuffer(repeating: 0, count: 20_000))
            time.withLock { $0 += .seconds(5) }
            let late = try receive(500_000, from: "192.0.2.3")
            #expect(throws: MediaError.self) { try slow.write(ByteBuffer(string: "x")) }
            #expect(slow.refusal?.contains("slow") == true)
            try fast.write(ByteBuffer(string: "x"))
            #expect(throws: UploadRefusal.busy) { try receive(500_000, from: "192.0.2.4") }
            try late.write(ByteBuffer(string: "x"))
            // What it sent long ago does not keep its place.
            time.withLock { $0 += .seconds(5) }
            try late.write(ByteBuffer(repeating: 0, count: 400_000))
            try fast.write(ByteBuffer(repeating: 0, count: 42_000))
            time.withLock { $0 += .seconds(5) }
            #expect(throws: UploadRefusal.busy) { try receive(500_000, from: "192.0.2.4") }
            try fast.write(ByteBuffer(repeating: 0, count: 42_000))
            time.withLock { $0 += .seconds(5) }
            let last = try receive(500_000, from: "192.0.2.4")
            #expect(throws: MediaError.self) { try late.write(ByteBuffer(string: "x")) }
            try last.write(ByteBuffer(string: "x"))
        }
    }

    @Test("rejects a second upload to a URL while the first is in progress")
    func parallel() async throws {  // A7
        try await withPictures { node, folder in
            let alice = try await node.signedIn(.alice)
            let promised = try await alice.promise(.avatar)
            let head = "PUT \(PictureAnswer.target(of: promised.url)) HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n"
            let slow = try await RawSocketClient.connect(port: node.httpPort)
            try await slow.send(Array((head + "Connection: close\r\n\r\n").utf8) + picture().prefix(500))
            try await folder.has(1)
            for _ in 1...3 { #expect(try await PictureAnswer.put(picture(), to: promised.url).status == 409) }
            try await folder.has(1)
            #expect(try PictureAnswer(try await slow.exchange(Array(picture().dropFirst(500)))).status == 204)
        }
    }

    @Test("an upload keeps its place once all bytes have arrived, and an ended one stores nothing")
    func arrived() async throws {
        try await PictureFolder.with { folder in
            let time = Mutex(ContinuousClock.now)
            let store = try folder.store(maxIncomingBytes: 2_000, now: { time.withLock { $0 } })
            let files = (1...3).map { _ in Self.file(1_000) }
            let complete = try store.receive(files[0], from: "192.0.2.1")
            let partial = try store.receive(files[1], from: "192.0.2.2")
            try complete.write(ByteBuffer(bytes: picture()))
            try partial.write(ByteBuffer(bytes: picture().dropLast()))
            time.withLock { $0 += .seconds(10) }
            // The client sends the file again, or others need the place, before the node has moved the file.
            #expect(throws: UploadRefusal.inProgress) { try store.receive(files[0], from: "192.0.2.1") }
            let other = try store.receive(files[2], from: "192.0.2.3")
            #expect(partial.refusal != nil)
            #expect(throws: MediaError.self) { try partial.finish() }
            #expect(try complete.finish() == .stored)
            other.discard()
            let stored = try folder.files
            #expect(stored.count == 1)
            #expect(
                FileManager.default.contents(atPath: "\(folder.path)/\(stored.first ?? "")") == Data(picture()))
        }
    }

    @Test("rejects uploads while the disk has too little free space")
    func fullDisk() async throws {  // A7
        try await PictureFolder.with { folder in
            var settings = NodeSettings()
            settings.pictures = folder.path
            settings.minFreePictureBytes = 1 << 60
            try await withNode(settings) { node in
                let alice = try await node.signedIn(.alice)
                for bytes in [1, 1_000_000] {
                    try await alice.refused(
                        .unavailable, "media.create",
                        ["purpose": "avatar", "mime_type": "image/png", "bytes": .integer(bytes)])
                }
            }
            let picture = Self.file(10)
            for (free, isTaken) in [(0, true), (1, true), (1 << 60, false)] {
                let store = try folder.store(minFreeBytes: free)
                #expect(try await store.hasRoom(for: 10) == isTaken)
                let incoming = try? store.receive(picture, from: AddressKey("192.0.2.1"), until: Date() + 60)
                #expect((incoming != nil) == isTaken)
            }
        }
    }

    private static func file(_ bytes: Int, id: ID = .random()) -> MediaFile {
        MediaFile(id: id, purpose: .avatar, type: .png, bytes: bytes)
    }

    /// Announces an upload, which is accepted or refused for the rate limit.
    private static func promise(_ client: TestClient, _ bytes: Int, isRefused: Bool) async throws {
        let params: JSONObject = ["purpose": "avatar", "mime_type": "image/png", "bytes": .integer(bytes)]
        if isRefused {
            try await client.refused(.rateLimited, "media.create", params)
        } else {
            _ = try await client.call("media.create", params)
        }
    }

    @Test("limits the bytes that a user uploads in a day, and all users of an address to those of 25")
    func dailyBytes() async throws {
        var rates = Rates.withoutRefill
        rates.mediaBytesPerDay = 1_000
        try await withPictures(NodeSettings(rates: rates)) { node, _ in
            let alice = try await node.signedIn(.alice)
            try await Self.promise(alice, 900, isRefused: false)
            try await Self.promise(alice, 101, isRefused: true)
            // Her limit holds on all her connections.
            try await Self.promise(try await node.signedIn(.alice), 101, isRefused: true)
            for _ in 0..<24 { try await Self.promise(try await node.guest(), 1_000, isRefused: false) }
            try await Self.promise(try await node.signedIn(.bob), 101, isRefused: true)
            try await Self.promise(try await node.signedIn(.bob), 100, isRefused: false)
        }
    }

    @Test("limits the bytes of all files of a user")
    func quota() async throws {
        var settings = NodeSettings()
        settings.mediaBytesPerUser = 1_000
        try await withPictures(settings) { node, _ in
            let alice = try await node.signedIn(.alice)
            try await Self.promise(alice, 900, isRefused: false)
            let error = try await alice.refused(
                .forbidden, "media.create", ["purpose": "avatar", "mime_type": "image/png", "bytes": 101])
            #expect(error?.message == "Your files may have 1000 bytes and have 900: delete messages with files.")
            try await Self.promise(alice, 100, isRefused: false)
            try await Self.promise(try await node.signedIn(.bob), 1_000, isRefused: false)
        }
    }

    @Test("limits the bytes that guests of an address upload in a day")
    func guests() async throws {  // A7
        var rates = Rates.withoutRefill
        rates.guestMediaBytesPerDay = 1_500
        try await withPictures(NodeSettings(rates: rates)) { node, _ in
            func promise(_ client: TestClient, _ bytes: Int, isRefused: Bool) async throws {
                try await Self.promise(client, bytes, isRefused: isRefused)
            }
            let one = try await node.guest()
            let other = try await node.guest()
            try await promise(one, 1_000, isRefused: false)
            try await promise(other, 501, isRefused: true)
            try await promise(other, 499, isRefused: false)
            try await promise(one, 100, isRefused: true)
            let alice = try await node.signedIn(.alice)
            try await promise(alice, 100_000, isRefused: false)
        }
    }
}

extension FolderStore {
    fileprivate func receive(_ file: MediaFile, from client: String) throws -> IncomingFile {
        try receive(file, from: AddressKey(client), until: Date() + 60)
    }
}
