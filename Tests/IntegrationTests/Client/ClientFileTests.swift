import BoundedWait
import Foundation
import Foundations
import GRDB
import LineClient
import Media
import Messaging
import TestSupport
import Testing
import WireProtocol

@testable import Postline

@Suite("Client files")
@MainActor
struct ClientFileTests {
    /// Runs a body with a folder for files.
    private func withFolder(_ body: @MainActor (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func mediaCount(_ node: TestNode) async throws -> String? {
        try await node.database.value("select count(*) from public.media")
    }

    private func waitingFiles(_ device: AppDevice) throws -> [String] {
        let folder = device.folder.appending(path: "\(Person.alice.id).sqlite.outbox")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    @Test("sends files of every kind offline as one message, which other members download")
    func everyKind() async throws {
        try await withPictureDevice { node, device in
            try await withFolder { folder in
                let files = [MediaType.mp4, .ogg, .pdf, .png].map { Data(picture($0, bytes: 300_000)) }
                let frame = Data(picture(.jpeg, bytes: 5_000))
                let video = folder.appending(path: "The lake.mp4")
                try files[0].write(to: video)
                var lake = OutgoingAttachment(contentsOf: video)
                (lake.width, lake.height, lake.duration, lake.preview) = (640, 480, .milliseconds(1_500), frame)
                var song = OutgoingAttachment(files[1], name: "song.ogg")
                (song.duration, song.waveform) = (.seconds(61), [0, 128, 255])
                let plan = OutgoingAttachment(files[2], name: "Plan.pdf")
                await device.client.disconnect()
                let id = try await device.client.chat(with: .aliceBob).send(
                    attachments: [lake, song, plan, OutgoingAttachment(files[3], name: "DCIM-1.png")])
                // The message has copies.
                try FileManager.default.removeItem(at: video)
                try await device.relaunch(inBackground: true)
                let chat = try await device.client.loadedChat(with: .aliceBob)
                let waiting = try #require(chat.messages.first { $0.id == id })
                #expect(waiting.kind == .video && waiting.content == "The lake.mp4" && waiting.caption == "")
                #expect(waiting.attachments.map(\.kind) == [.video, .audio, .file, .image])
                #expect(waiting.attachments.map(\.name) == ["The lake.mp4", "song.ogg", "Plan.pdf", nil])
                #expect(waiting.attachments.allSatisfy { $0.bytes == 300_000 && $0.fileURL != nil })
                let waitingPreview = try #require(waiting.attachment?.preview)
                #expect(try await device.client.pictures.picture(of: waitingPreview) == frame)
                for (attachment, file) in zip(waiting.attachments, files) {
                    let copy = folder.appending(path: attachment.suggestedFilename)
                    try await device.client.download(attachment, to: copy)
                    #expect(try Data(contentsOf: copy) == file)
                }
                let progress = ClientObserver { device.client.uploadProgress[id] }
                await device.client.enterForeground()
                try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 && $0.state == .live }
                #expect(try await mediaCount(node) == "5")
                try await eventually("the end of the progress") { device.client.uploadProgress.isEmpty }
                let last = progress.values.compactMap(\.self).max { $0.completedBytes < $1.completedBytes }
                #expect(last?.totalBytes == 1_200_000)
                #expect(try waitingFiles(device).isEmpty)
                let sent = try #require(chat.messages.first { $0.id == id })
                #expect(sent.delivery == .sent && sent.kind == .video && sent.attachments.count == 4)
                try await seen(by: .bob, node, files, frame, in: folder)
            }
        }
    }

    /// Checks what another member sees of the last message, and that a user of another conversation sees nothing of it.
    private func seen(
        by person: Person, _ node: TestNode, _ files: [Data], _ frame: Data, in folder: URL
    ) async throws {
        try await AppDevice.with(.node(node.port)) { device in
            try await device.signIn(person)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let seen = try #require(chat.messages.last)
            #expect(seen.kind == .video && seen.content == "The lake.mp4" && seen.caption == "")
            let (video, song) = (seen.attachments[0], seen.attachments[1])
            #expect(video.name == "The lake.mp4" && video.width == 640 && video.duration == .milliseconds(1_500))
            #expect(song.waveform == [0, 128, 255] && song.duration == .seconds(61) && song.preview == nil)
            #expect(try await device.client.pictures.picture(of: try #require(video.preview)) == frame)
            for (attachment, file) in zip(seen.attachments, files) {
                let copy = folder.appending(path: "\(person) \(attachment.suggestedFilename)")
                let (parts, part) = AsyncStream<TransferProgress>.makeStream()
                try await device.client.download(attachment, to: copy) { part.yield($0) }
                part.finish()
                #expect(try Data(contentsOf: copy) == file)
                var last: Double?
                for await part in parts { last = part.fractionCompleted }
                #expect(last == 1)
            }
            let others = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
                $0.hasSuffix(".part")
            }
            #expect(others.isEmpty)
            // A file that cannot be written, and one of another conversation.
            await #expect(throws: PostlineError.self) {
                try await device.client.download(song, to: folder.appending(path: "no folder/song.ogg"))
            }
            try await AppDevice.with(.node(node.port)) { stranger in
                try await stranger.signIn(.carol)
                let copy = folder.appending(path: "stolen")
                await #expect {
                    try await stranger.client.download(song, to: copy)
                } throws: { error in
                    (error as? PostlineError)?.code == .notFound
                }
                #expect(!FileManager.default.fileExists(atPath: copy.path))
            }
        }
    }

    @Test("refuses what the server would refuse, with the field and before anything is queued")
    func checked() async throws {
        var limits = FileLimits()
        (limits.fileBytes, limits.pictureBytes, limits.waitingFiles) = (5_000, 2_000, 3)
        try await withPictureDevice(limits) { _, device in
            await device.client.disconnect()
            let text = OutgoingAttachment(Data("text".utf8), name: "a.txt")
            func field(
                _ attachments: [OutgoingAttachment], _ content: String = "", code: PostlineError.Code = .invalidParams
            ) async -> String? {
                do {
                    try await device.client.send(attachments: attachments, text: content, in: .aliceBob)
                    return nil
                } catch {
                    #expect(error.code == (error.isRetryable ? .outboxFull : code))
                    #expect(error.message.contains(error.field ?? "?") || error.isRetryable, "\(error)")
                    return error.field
                }
            }
            func field(_ change: (inout OutgoingAttachment) -> Void) async -> String? {
                var wrong = text
                change(&wrong)
                return await field([text, wrong])
            }
            #expect(await field([]) == "attachments")
            #expect(await field(Array(repeating: text, count: 11)) == "attachments")
            #expect(await field([text], String(repeating: "x", count: 8_001)) == "text")
            #expect(await field([text, OutgoingAttachment(Data(), name: "a.txt")]) == "attachments[1]")
            let (missing, folder) = (URL(filePath: "/tmp/postline is missing"), device.folder)
            #expect(await field([OutgoingAttachment(contentsOf: missing)]) == "attachments[0]")
            #expect(await field([OutgoingAttachment(contentsOf: folder)]) == "attachments[0]")
            for large in [
                OutgoingAttachment(Data(count: 5_001), name: "a"),
                OutgoingAttachment(Data(picture(.png, bytes: 2_001))),
            ] {
                #expect(await field([large], code: .fileTooLarge) == "attachments[0]")
            }
            #expect(await field { $0.name = "" } == "attachments[1].name")
            #expect(await field { $0.name = "a\u{202E}b" } == "attachments[1].name")
            #expect(await field { $0.name = String(repeating: "ä", count: 256) } == "attachments[1].name")
            #expect(await field { $0.width = 0 } == "attachments[1].width")
            #expect(await field { $0.height = 65_536 } == "attachments[1].height")
            #expect(await field { $0.duration = .seconds(-1) } == "attachments[1].duration")
            #expect(await field { $0.waveform = Array(repeating: 1, count: 129) } == "attachments[1].waveform")
            #expect(await field { $0.blurhash = "<b>" } == "attachments[1].blurhash")
            #expect(await field { $0.preview = Data("%PDF-".utf8) } == "attachments[1].preview")
            #expect(device.client.pendingChangeCount == 0)
            let files = try waitingFiles(device)
            #expect(files.isEmpty)
            // The limits themselves are allowed.
            #expect(await field { $0.name = String(repeating: "ä", count: 255) } == nil)
            #expect(await field([text, text]) == "attachments")
            #expect(await field([text], String(repeating: "x", count: 8_000)) == nil)
            #expect(device.client.pendingChangeCount == 2)
        }
    }

    @Test("an upload that was interrupted continues where it stopped")
    func resumed() async throws {
        try await withPictureDevice { node, device in
            let body = picture(.mp4, bytes: 2_000_000)
            await device.client.disconnect()
            let id = try await device.client.send(
                attachments: [OutgoingAttachment(Data(body), name: "a.mp4")], in: .aliceBob)
            let alice = try await node.signedIn(.alice)
            let (mediaID, url) = try await alice.promise(
                .message, in: Room.aliceBob, type: .mp4, bytes: body.count, name: "a.mp4")
            // The store keeps what an earlier attempt has uploaded. Other bytes show that they are not sent again.
            let begin = picture(.mp4, bytes: 100) + [UInt8](repeating: 7, count: 499_900)
            let part = try await PictureAnswer.request(
                "PUT", url,
                headers: [
                    "Content-Type: video/mp4", "Content-Range: bytes 0-499999/\(body.count)", "Content-Length: 500000",
                ], body: begin)
            #expect(part.status == 202)
            // The next attempt is cut too.
            let proxy = try await TCPProxy(to: node.httpPort)
            defer { proxy.close() }
            proxy.cut(after: 600_000, .toServer)
            var address = try #require(URLComponents(string: url))
            address.port = proxy.port
            let target = try #require(address.url)
            let store = try Store(folder: device.folder, userID: .alice)
            try store.writeNow { writer in
                var change = try #require(try writer.reader.changes().first)
                change.files[0].upload = MediaUpload(
                    id: mediaID, upload: .init(url: target, headers: ["Content-Type": "video/mp4"]))
                #expect(try writer.update(change))
            }
            try store.close(erasing: false)
            try await device.relaunch(inBackground: true)
            let progress = ClientObserver { device.client.uploadProgress[id]?.completedBytes }
            await device.client.enterForeground()
            try await eventually("the cut") {
                try await PictureAnswer.request("HEAD", url).head.contains("Upload-Offset: 500000") == false
            }
            proxy.cut(after: .max, .toServer)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            try await device.waitUntil("the sent file") { _ in chat.messages.last?.delivery == .sent }
            #expect(chat.messages.last?.id == id && chat.messages.last?.attachment?.mediaID == mediaID)
            #expect(progress.values.compactMap(\.self).min() ?? 0 > 500_000)
            let stored = try await PictureAnswer.get(try #require(try await alice.address(of: mediaID)))
            #expect(stored.body.count == body.count && stored.body == begin + body[500_000...])
            #expect(try await mediaCount(node) == "1")
        }
    }

    @Test("an upload delays the next message but no read mark, and discarding its message ends it")
    func discarded() async throws {
        try await withPictureDevice { node, device in
            try await ScriptedPictureServer.with { server in
                server.hold()
                await device.client.disconnect()
                try await device.client.send(
                    attachments: [OutgoingAttachment(Data(count: 500_000), name: "a.bin")], in: .aliceBob)
                try await device.client.send("After it", in: .aliceBob)
                let target = try #require(URL(string: server.url("a")))
                let store = try Store(folder: device.folder, userID: .alice)
                try store.writeNow { writer in
                    var change = try #require(try writer.reader.changes().first)
                    change.files[0].upload = MediaUpload(
                        id: UUID().uuidString.lowercased(), upload: .init(url: target, headers: [:]))
                    #expect(try writer.update(change))
                }
                try store.close(erasing: false)
                try await device.relaunch()
                try await eventually("the upload") { server.openCount == 1 }
                let chat = try await device.client.loadedChat(with: .aliceBob)
                let waiting = try #require(chat.messages.first { !$0.attachments.isEmpty && $0.seq == nil })
                guard case .queued(let change) = waiting.delivery else {
                    Issue.record("\(waiting.delivery)")
                    return
                }
                let last = try #require(chat.messages.last { $0.seq != nil })
                try await device.client.react(to: last, with: "👍")
                try await device.waitUntil("the sent reaction") { $0.pendingChangeCount == 2 }
                #expect(server.openCount == 1 && chat.messages.last?.delivery.isQueued == true)
                try await device.client.discardChange(change)
                try await eventually("the end of the upload") { server.openCount == 0 }
                try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
                #expect(chat.messages.last?.content == "After it" && chat.messages.last?.delivery == .sent)
                #expect(try waitingFiles(device).isEmpty)
                #expect(try await mediaCount(node) == "0" && device.client.uploadProgress.isEmpty)
            }
        }
    }

    @Test("the next part of a download continues an interrupted one")
    func continuedDownload() async throws {
        try await withPictures { node, _ in
            let alice = try await node.signedIn(.alice)
            let body = picture(.zip, bytes: 1_500_000)
            let id = try await alice.upload(.message, in: Room.aliceBob, type: .zip, bytes: body.count, name: "a.zip")
            _ = try await alice.call(
                "messages.send",
                [
                    "conversation_id": .string(Room.aliceBob), "kind": "file",
                    "attachment": .object(["media_id": .string(id)]),
                ])
            let proxy = try await TCPProxy(to: node.httpPort)
            defer { proxy.close() }
            proxy.cut(after: 700_000, .toClient)
            let target = try #require(try await alice.address(of: id))
            var address = try #require(URLComponents(string: target))
            address.port = proxy.port
            let url = try #require(address.url)
            try await withFolder { folder in
                let place = folder.appending(path: "a.zip")
                let file = try PartialFile(place, maxBytes: body.count)
                await #expect {
                    _ = try await HTTPTransfer.get(url, into: .file(file)) { _ in }
                } throws: { error in
                    (error as? PostlineError)?.code == .offline
                }
                let received = try Data(contentsOf: place)
                #expect(received.count > 0 && received.count < body.count)
                #expect(file.rangeHeaders["Range"] == "bytes=\(received.count)-")
                proxy.cut(after: .max, .toClient)
                let response = try await HTTPTransfer.get(url, into: .file(file)) { _ in }
                #expect(response.status == 206)
                #expect(try Data(contentsOf: place) == Data(body))
                // A server without ranges sends the whole file again.
                let small = try PartialFile(place, maxBytes: body.count - 1)
                await #expect {
                    _ = try await HTTPTransfer.get(url, into: .file(small)) { _ in }
                } throws: { error in
                    (error as? PostlineError)?.code == .fileTooLarge
                }
            }
        }
    }

    @Test("schedules a message with uploaded files, and sends uploaded ones once")
    func scheduled() async throws {
        try await withPictureDevice { node, device in
            let client = device.client
            let types: [MediaType] = [.wav, .quickTime, .gif]
            var attachments: [Message.Attachment] = []
            for type in types {
                attachments.append(
                    try await client.upload(
                        OutgoingAttachment(Data(picture(type)), name: "a", mimeType: type.rawValue), for: .aliceBob))
            }
            let later = try await client.schedule(
                "", in: .aliceBob, at: Date(timeIntervalSinceNow: 3_600), attachments: Array(attachments.prefix(2)))
            #expect(later.kind == .audio && later.content == "a")
            #expect(later.attachments.map(\.mimeType) == ["audio/wav", "video/quicktime"])
            #expect(later.attachment == later.attachments.first)
            #expect(try await client.scheduledMessages(in: .aliceBob).map(\.attachments) == [later.attachments])
            let chat = try await client.loadedChat(with: .aliceBob)
            try await chat.send("", attachments: [attachments[2], Message.Attachment(url: "https://a.example.com/b")])
            try await device.waitUntil("the message") { _ in chat.messages.last?.attachments.count == 2 }
            try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            #expect(chat.messages.last?.kind == .image && chat.messages.last?.content == "")
            #expect(chat.messages.last?.attachments[1].url == "https://a.example.com/b")
            try await chat.send("Again", attachments: [attachments[2], attachments[2]])
            try await device.waitUntil("the refusal") { $0.refusedChanges.count == 1 }
            #expect(client.refusedChanges[0].error.field == "attachments[0].media_id")
            await #expect {
                try await chat.send("x", attachments: Array(repeating: attachments[0], count: 11))
            } throws: { error in
                (error as? PostlineError)?.field == "attachments"
            }
        }
    }

    @Test("a picture that waits in a store of the version before is sent")
    func migration() async throws {
        try await withPictureDevice { node, device in
            await device.client.disconnect()
            let id = try await device.client.send(
                picture: Data(picture(.png, bytes: 9_000)), text: "Pic", in: .aliceBob, width: 4, height: 3)
            let path = device.folder.appending(path: "\(Person.alice.id).sqlite").path
            try await DatabaseQueue(path: path).write { database in
                try database.execute(
                    sql: """
                        update change set method = 'messages.send_picture',
                            params = json_remove(
                                json_set(params, '$.attachment', json_extract(params, '$.files[0].attachment')),
                                '$.files');
                        alter table message drop column more_attachments;
                        delete from grdb_migrations where identifier = '8';
                        """)
            }
            try await device.relaunch(inBackground: true)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let waiting = try #require(chat.messages.first { $0.id == id })
            #expect(waiting.content == "Pic" && waiting.kind == .image && waiting.attachment?.width == 4)
            #expect(waiting.attachment?.fileURL != nil)
            await device.client.enterForeground()
            try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 && $0.state == .live }
            #expect(chat.messages.first { $0.id == id }?.delivery == .sent)
            #expect(try await mediaCount(node) == "1")
        }
    }

    @Test("detects the types that the server accepts", arguments: MediaType.allCases)
    func types(_ type: MediaType) {
        let bytes = picture(type)
        #expect(FileType.detect(bytes, declared: type.rawValue, name: nil) == type.rawValue)
        let wrong = Array("<html><script>alert(1)</script>".utf8)
        let detected = FileType.detect(wrong, declared: type.rawValue, name: "a.html")
        #expect(detected == (type == .text ? "text/plain" : FileType.binary))
        #expect(FileType.picture(bytes) == (type.isPicture ? type.rawValue : nil))
    }

    @Test("detects a type by the name's extension, unless the file begins otherwise")
    func extensions() {
        for (name, type, detected) in [
            ("a.MP4", MediaType.mp4, "video/mp4"), ("a.m4a", .mp4Audio, "audio/mp4"), ("a.mp4", .pdf, FileType.binary),
            ("a.txt", .text, "text/plain"), ("a.docx", .zip, FileType.binary), ("a.zip", .zip, "application/zip"),
            ("a.pdf", .jpeg, "image/jpeg"), ("a", .pdf, "application/pdf"), ("a", .text, FileType.binary),
            (".mp3", .text, FileType.binary),
        ] { #expect(FileType.detect(picture(type), declared: nil, name: name) == detected, "\(name)") }
        let png = picture(.png)
        #expect(FileType.detect(png, declared: FileType.binary, name: "a.png") == FileType.binary)
        #expect(FileType.detect(picture(.wav), declared: "Audio/X-WAV; codecs=1", name: nil) == "audio/wav")
    }

    @Test("names a file of this device safely, and shows a name once")
    func names() {
        func name(_ name: String?, _ type: String? = nil) -> String {
            Message.Attachment(url: "", mimeType: type, name: name).suggestedFilename
        }
        #expect(name("Plan.pdf") == "Plan.pdf" && name("ä 1.txt") == "ä 1.txt")
        #expect(name("../../etc/passwd") == "_.._etc_passwd" && name("a\\b:c\u{202E}") == "a_b_c_")
        #expect(name("...") == "file" || name("...", "application/pdf") == "file.pdf")
        #expect(name(nil, "image/jpeg") == "picture.jpg" && name(nil, "video/mp4") == "video.mp4")
        #expect(name(nil, "application/x-unknown") == "file")
        let long = name(String(repeating: "ä", count: 255) + ".pdf")
        #expect(long.utf8.count <= 255 && long.hasSuffix(".pdf"))

        func message(_ content: String, _ kind: MessageKind, _ attachments: [Message.Attachment]) -> Message {
            Message(
                id: "1", conversationID: .aliceBob, seq: 1, senderID: .bob, kind: kind, content: content,
                attachments: attachments)
        }
        let file = Message.Attachment(url: "", mimeType: "application/pdf", name: "a.pdf")
        #expect(message("a.pdf", .file, [file]).caption == "" && message("b", .file, [file]).caption == "b")
        #expect(message("a.pdf", .text, []).caption == "a.pdf")
        #expect(Message.Attachment(url: "").kind == .image)
    }

    @Test("reads the attachments of every server, and kinds that it does not know")
    func wire() throws {
        func message(_ members: String) throws -> WireMessage {
            try WireJSON.decode(
                WireMessage.self,
                from: Data(
                    """
                    {"id":"1","conversation_id":"2","seq":1,"sender_id":"3","version":1,
                     "created_at":"2026-11-29T10:00:00Z",\(members)}
                    """.utf8))
        }
        let one = #"{"url":"https://a.example.com/a","media_id":null,"name":"a","duration_ms":null,"depth":3}"#
        let old = try message(#""kind":"image","content":"","attachment":\#(one)"#)
        #expect(old.allAttachments.map(\.url) == ["https://a.example.com/a"])
        let new = try message(#""kind":"hologram","content":"x","attachment":\#(one),"attachments":[\#(one),\#(one)]"#)
        #expect(new.allAttachments.count == 2 && new.kind.rawValue == "hologram")
        #expect(try message(#""kind":"text","content":"x","attachment":null,"attachments":[]"#).allAttachments.isEmpty)
        var attachment = new.allAttachments[0]
        attachment.encodedWaveform = "no base64"
        #expect(attachment.waveform == nil)
        attachment.duration = .seconds(Int64.max)
        #expect(attachment.durationMilliseconds == 1 << 53)
    }
}
