import BoundedWait
import Foundation
import Foundations
import GRDB
import LineClient
import NIOCore
import Postgres
import TestSupport
import Testing

@testable import Messaging
@testable import Postline

@Suite("Client picture outbox")
@MainActor
struct ClientPictureOutboxTests {
    private func waitingFiles(_ device: AppDevice, of person: Person = .alice) throws -> [String] {
        let folder = device.folder.appending(path: "\(person.id).sqlite.outbox")
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder.path)
    }

    private func contents(_ node: TestNode) async throws -> [String] {
        try await node.database.column(
            """
            select content from messages where conversation_id = '\(Room.aliceBob)' and content like 'Pic%' order by seq
            """
        ).compactMap(\.self)
    }

    private func mediaCount(_ node: TestNode) async throws -> String? {
        try await node.database.value("select count(*) from public.media")
    }

    @Test("a picture that is sent offline is shown, survives a restart, and arrives once in order")
    func offline() async throws {
        try await withPictureDevice { node, device in
            let view = Data(picture(.png, bytes: 400_000))
            await device.client.disconnect()
            try await device.client.send("Pic before", in: .aliceBob)
            let id = try await device.client.chat(with: .aliceBob).send(
                picture: view, text: "Pic", width: 40, height: 30, blurhash: "00OZZy")
            try await device.client.send("Pic after", in: .aliceBob)
            try await device.relaunch(inBackground: true)
            let chat = try await device.client.loadedChat(with: .aliceBob)
            let waiting = try #require(chat.messages.first { $0.id == id })
            #expect(waiting.kind == .image && waiting.content == "Pic")
            #expect(waiting.delivery.isQueued && waiting.seq == nil)
            let preview = try #require(waiting.attachment)
            #expect(preview.width == 40 && preview.height == 30 && preview.blurhash == "00OZZy")
            #expect(preview.bytes == 400_000 && preview.mimeType == "image/png" && preview.fileURL != nil)
            #expect(try await device.client.pictures.picture(of: preview) == view)
            #expect(device.client.conversations.first { $0.id == .aliceBob }?.lastMessageContent == "Pic after")

            let progress = ClientObserver { device.client.uploadProgress[id]?.fractionCompleted }
            await device.client.enterForeground()
            try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 && $0.state == .live }
            #expect(try await contents(node) == ["Pic before", "Pic", "Pic after"])
            #expect(try await mediaCount(node) == "1")
            try await eventually("the end of the progress") { device.client.uploadProgress.isEmpty }
            #expect(progress.values.contains { $0 != nil })
            let sent = try #require(chat.messages.first { $0.id == id })
            let attachment = try #require(sent.attachment)
            let mediaID = try #require(attachment.mediaID)
            #expect(sent.delivery == .sent && attachment.fileURL == nil && attachment.blurhash == "00OZZy")
            #expect(try waitingFiles(device).isEmpty)
            // The sender needs no download.
            await device.client.disconnect()
            #expect(try await device.client.pictures.picture(of: attachment) == view)
            // Another member sees it.
            let bob = try await node.signedIn(.bob)
            let url = try #require(try await bob.address(of: mediaID))
            #expect(try await PictureAnswer.get(url).body == Array(view))
        }
    }

    @Test("a kill between the upload and the send loses and duplicates nothing")
    func killed() async throws {
        try await withPictures { node, _ in
            let path = FileManager.default.temporaryDirectory.appending(path: "postline-kill-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: path) }
            var app = try ClientProcess(.swift, folder: path.path, linePort: node.port, httpPort: node.httpPort)
            try await app.request("signIn", ["email": .string(Person.alice.email), "password": "postline-dev"])
            try await eventually("the initial sync") { try await app.request("state")["live"] == true }
            // Uploads pass, sends wait.
            let lock = try await node.database.connect()
            _ = try await lock.execute("begin; lock table public.messages in share row exclusive mode")
            try await app.request(
                "sendFiles",
                [
                    "conversation": .string(Room.aliceBob), "text": "Pic killed",
                    "files": [["type": "image/gif", "begin": "GIF89a", "bytes": 50_000]],
                ])
            let store = try DatabaseQueue(path: path.appending(path: "\(Person.alice.id).sqlite").path)
            try await eventually("the recorded upload") {
                try await store.read {
                    try Bool.fetchOne(
                        $0, sql: "select count(*) > 0 from change where params like '%\"media_id\":\"%'") == true
                }
            }
            try store.close()
            try await app.kill()
            _ = try await lock.execute("rollback")
            try app.relaunch()
            try await eventually("an empty outbox") {
                let state = try await app.request("state")
                return state["pending"] == 0 && state["live"] == true
            }
            #expect(try await contents(node) == ["Pic killed"])
            #expect(try await mediaCount(node) == "1")
            #expect(
                try FileManager.default.contentsOfDirectory(
                    atPath: path.appending(path: "\(Person.alice.id).sqlite.outbox").path
                ).isEmpty)
            try await app.kill()
        }
    }

    @Test("an upload that was interrupted at any point is repeated", arguments: UploadState.allCases)
    func repeated(_ state: UploadState) async throws {
        try await withPictureDevice { node, device in
            let view = picture(.png, bytes: 30_000)
            await device.client.disconnect()
            let id = try await device.client.send(picture: Data(view), text: "Pic", in: .aliceBob)
            // The upload of an app that was killed, or of one whose response was lost.
            let alice = try await node.signedIn(.alice)
            let (mediaID, url) = try await alice.promise(.message, in: Room.aliceBob, bytes: view.count)
            if state == .used { #expect(try await PictureAnswer.put(view, to: url).status == 204) }
            let store = try Store(folder: device.folder, userID: .alice)
            let address = try #require(URL(string: state == .expired ? url + "0" : url))
            try store.writeNow { writer in
                var change = try #require(try writer.reader.changes().first)
                change.files[0].upload = MediaUpload(
                    id: mediaID, upload: .init(url: address, headers: ["Content-Type": "image/png"]))
                if state == .removed { change.files[0].attachment.mediaID = mediaID }
                #expect(try writer.update(change))
            }
            try store.close(erasing: false)
            try await device.relaunch()
            let chat = try await device.client.loadedChat(with: .aliceBob)
            try await device.waitUntil("the sent picture") { _ in chat.messages.last?.delivery == .sent }
            #expect(chat.messages.last?.id == id)
            let isSame = chat.messages.last?.attachment?.mediaID == mediaID
            #expect(isSame == [.used, .begun].contains(state))
            #expect(try await contents(node) == ["Pic"])
            #expect(try await mediaCount(node) == (isSame ? "1" : "2"))
        }
    }

    /// The state of an upload at a launch.
    enum UploadState: String, CaseIterable {
        case begun, used, expired
        /// Recorded as uploaded, but the server does not have the bytes.
        case removed
    }

    @Test("a lost response to the send leads to one message")
    func lostResponse() async throws {
        try await withPictureDevice { node, device in
            try await LossyRelay.with(
                listening: SocketAddress(ipAddress: "127.0.0.1", port: 0),
                to: SocketAddress(ipAddress: "127.0.0.1", port: node.port),
                isWhole: { String(buffer: $0).contains(#""result""#) }
            ) { @MainActor relay in
                let port = try #require(relay.address.port)
                try await AppDevice.with(.node(port)) { device in
                    try await device.signIn(.alice)
                    relay.loseAnswer(to: #""content":"Pic lost""#)
                    try await device.client.send(
                        picture: Data(picture(.png, bytes: 9_000)), text: "Pic lost", in: .aliceBob)
                    try await eventually("the lost response") { relay.lost == 1 }
                    try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
                    #expect(try await contents(node) == ["Pic lost"])
                    #expect(try await mediaCount(node) == "1" && device.client.refusedChanges.isEmpty)
                    try await eventually("no file") { try waitingFiles(device).isEmpty }
                }
            }
        }
    }

    @Test("a refused picture keeps its file until it is retried or discarded, and blocks nothing")
    func refused() async throws {
        try await withPictureDevice { node, device in
            let chat = try await device.client.loadedChat(with: .aliceBob)
            // More than the server allows.
            try await chat.send(picture: Data(picture(.png, bytes: 1_100_000)), text: "Pic large")
            try await chat.send(picture: Data(picture(.png, bytes: 1_000)), text: "Pic small")
            try await device.waitUntil("the refusal, and the next") { client in
                client.refusedChanges.count == 1
                    && chat.messages.contains { $0.content == "Pic small" && $0.delivery == .sent }
            }
            let change = try #require(device.client.refusedChanges.first)
            #expect(change.kind == .message && change.error.field == "bytes" && change.content == "Pic large")
            #expect(chat.messages.last?.delivery == .refused(change.error, change: change.id))
            #expect(try waitingFiles(device).count == 1)
            try await device.client.retryChange(change.id)
            try await device.waitUntil("the second refusal") { $0.refusedChanges.map(\.id) == [change.id] }
            #expect(chat.messages.last?.attachment?.fileURL != nil)
            try await device.client.discardChange(change.id)
            #expect(chat.messages.last?.content == "Pic small" && device.client.refusedChanges.isEmpty)
            #expect(try waitingFiles(device).isEmpty)
            #expect(try await contents(node) == ["Pic small"])
        }
    }

    @Test("bounds the pictures that wait, and refuses other files, with errors that name the picture")
    func bounds() async throws {
        var limits = FileLimits()
        limits.waitingFiles = 2
        limits.waitingBytes = 5_000
        limits.pictureBytes = 4_000
        try await withPictureDevice(limits) { _, device in
            await device.client.disconnect()
            func code(_ bytes: Data) async -> PostlineError.Code? {
                do {
                    try await device.client.send(picture: bytes, in: .aliceBob)
                    return nil
                } catch {
                    #expect(error.field == "picture")
                    return error.code
                }
            }
            #expect(await code(Data("<svg>".utf8)) == .invalidParams)
            #expect(await code(Data(picture(.png, bytes: 4_001))) == .fileTooLarge)
            #expect(await code(Data(picture(.png, bytes: 3_000))) == nil)
            #expect(await code(Data(picture(.png, bytes: 3_000))) == .outboxFull)
            #expect(await code(Data(picture(.png, bytes: 2_000))) == nil)
            #expect(await code(Data(picture(.png, bytes: 10))) == .outboxFull)
            #expect(device.client.pendingChangeCount == 2)
            let files = try waitingFiles(device)
            #expect(files.count == 2)
        }
    }

    @Test("a sign-out keeps what waits for the user's return, an erasing one deletes it")
    func signOut() async throws {
        try await withPictureDevice { node, device in
            await device.client.disconnect()
            try await device.client.send(picture: Data(picture(.png)), text: "Pic kept", in: .aliceBob)
            try await device.client.signOut()
            #expect(try waitingFiles(device).count == 1)
            try await device.signIn(.alice)
            try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            #expect(try await contents(node) == ["Pic kept"])
            await device.client.disconnect()
            try await device.client.send(picture: Data(picture(.png)), text: "Pic erased", in: .aliceBob)
            try await device.client.signOut(erasing: true)
            let left = try FileManager.default.contentsOfDirectory(atPath: device.folder.path)
            #expect(!left.contains { $0.contains(Person.alice.id) })
            #expect(try await contents(node) == ["Pic kept"])
        }
    }

    @Test("deletes old files without a message at launch, and moves a guest's")
    func orphans() async throws {
        try await withPictureDevice { _, device in
            await device.client.disconnect()
            let id = try await device.client.send(picture: Data(picture(.png)), in: .aliceBob)
            let pictures = OutboxFiles(folder: device.folder.appending(path: "\(Person.alice.id).sqlite.outbox"))
            for name in ["old", "new"] { try Data().write(to: pictures.url(name)) }
            for name in ["old", id.rawValue] {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -4_000)], ofItemAtPath: pictures.url(name).path)
            }
            try await device.relaunch(inBackground: true)
            #expect(Set(try waitingFiles(device)) == ["new", id.rawValue])
            let other = OutboxFiles(folder: device.folder.appending(path: "other"))
            try pictures.moveAll(to: other)
            try pictures.moveAll(to: other)
            #expect(try waitingFiles(device).isEmpty)
            #expect(try other.content(id.rawValue, .file(0)).read() == Data(picture(.png)))
        }
    }
}
