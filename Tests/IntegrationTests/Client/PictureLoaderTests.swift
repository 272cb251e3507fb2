import BoundedWait
import Foundation
import Foundations
import NIOConcurrencyHelpers
import Testing

@testable import Postline

@Suite("Picture loader")
struct PictureLoaderTests {
    /// Runs a body with a server and a function that creates loaders on one folder.
    private func withLoader(
        _ limits: FileLimits = FileLimits(),
        urls: @escaping PictureURLBatcher.Fetch = { _ in [:] },
        _ body: (ScriptedPictureServer, URL, () -> PictureLoader) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-cache-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await ScriptedPictureServer.with { server in
            try await body(server, folder) { PictureLoader(folder: folder, limits: limits, urls: urls) }
        }
    }

    private func file(_ byte: UInt8, _ count: Int = 1_000) -> Data {
        Data(picture(.png, bytes: 8)) + Data(repeating: byte, count: count - 8)
    }

    private func files(in folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    }

    @Test("many callers share one download, with progress for each")
    func coalesced() async throws {
        try await withLoader { server, _, makeLoader in
            server.answer("a", (200, file(1, 300_000)))
            server.hold()
            let loader = makeLoader()
            let attachment = Message.Attachment(url: server.url("a"))
            let progress = NIOLockedValueBox([TransferProgress]())
            try await withThrowingTaskGroup(of: Data.self) { group in
                for size in 0..<20 {
                    group.addTask {
                        try await loader.picture(of: attachment, maxPixels: size % 2 == 0 ? nil : 40 + size) { part in
                            progress.withLockedValue { $0.append(part) }
                        }
                    }
                }
                try await eventually("the request") { server.openCount == 1 }
                server.release()
                for try await data in group { #expect(data == file(1, 300_000)) }
            }
            #expect(server.requests == ["/a"])
            let parts = progress.withLockedValue { $0.map(\.fractionCompleted) }
            #expect(parts.contains(1))
            #expect(try await loader.picture(of: attachment) == file(1, 300_000))
            #expect(server.requests.count == 1)
        }
    }

    @Test("runs a bounded number of downloads at a time")
    func concurrency() async throws {
        var limits = FileLimits()
        limits.concurrentDownloads = 2
        try await withLoader(limits) { server, _, makeLoader in
            let loader = makeLoader()
            for number in 0..<8 { server.answer("\(number)", (200, file(UInt8(number)))) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let avatar = Avatar.custom(url: server.url("\(number)"))
                        let data = try await loader.picture(of: avatar)
                        #expect(data?.last == UInt8(number))
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.requests.count == 8 && server.mostOpen <= 2)
        }
    }

    @Test("the last caller's cancellation ends the download, an earlier one does not")
    func cancelled() async throws {
        try await withLoader { server, _, makeLoader in
            server.answer("a", (200, file(1)))
            server.hold()
            let loader = makeLoader()
            let attachment = Message.Attachment(url: server.url("a"))
            let first = Task { try await loader.picture(of: attachment) }
            let second = Task { try await loader.picture(of: attachment) }
            try await eventually("the request") { server.openCount == 1 }
            first.cancel()
            await #expect { try await first.value } throws: { ($0 as? PostlineError)?.code == .cancelled }
            #expect(server.openCount == 1)
            second.cancel()
            await #expect { try await second.value } throws: { ($0 as? PostlineError)?.code == .cancelled }
            try await eventually("the end of the download") { server.openCount == 0 }
            server.release()
            #expect(try await loader.picture(of: attachment) == file(1))
            #expect(server.requests.count == 2)
        }
    }

    @Test("the disk cache is bounded, evicts the least recently used, and needs no connection")
    func diskBound() async throws {
        var limits = FileLimits()
        limits.diskBytes = 4_000
        limits.memoryBytes = 0
        try await withLoader(limits) { server, folder, makeLoader in
            for name in ["a", "b", "c", "d"] { server.answer(name, (200, file(UInt8(ascii: "x")))) }
            func load(_ name: String, _ loader: PictureLoader) async throws {
                _ = try await loader.picture(of: .custom(url: server.url(name)))
            }
            let loader = makeLoader()
            for name in ["a", "b", "c", "a", "d"] { try await load(name, loader) }
            #expect(server.requests == ["/a", "/b", "/c", "/d"])
            // The launch after the next one knows the order.
            for (number, name) in ["c", "d", "a"].enumerated() {
                try await load(name, makeLoader())
                let file = folder.appending(path: PictureCache.name(for: "url:\(server.url(name))"))
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: Double(number))], ofItemAtPath: file.path)
            }
            #expect(server.requests.count == 4)
            try await load("b", makeLoader())
            let size = try files(in: folder).reduce(0) { try $0 + Data(contentsOf: $1).count }
            #expect(size <= 4_000 && size > 3_000)
            try await load("a", makeLoader())
            #expect(server.requests == ["/a", "/b", "/c", "/d", "/b"])
            try await load("c", makeLoader())
            #expect(server.requests.count == 6)
        }
    }

    @Test("the memory cache is bounded and can be emptied")
    func memoryBound() async throws {
        var limits = FileLimits()
        limits.diskBytes = 0
        limits.memoryBytes = 2_500
        try await withLoader(limits) { server, _, makeLoader in
            let loader = makeLoader()
            for name in ["a", "b", "c"] { server.answer(name, (200, file(7))) }
            for name in ["a", "b", "a", "c", "a", "b"] {
                _ = try await loader.picture(of: .custom(url: server.url(name)))
            }
            #expect(server.requests == ["/a", "/b", "/c", "/b"])
            loader.removeAllFromMemory()
            _ = try await loader.picture(of: .custom(url: server.url("b")))
            #expect(server.requests.count == 5)
        }
    }

    @Test("damaged, cut and foreign cache files are loaded again", arguments: ["damaged", "cut", "foreign", "empty"])
    func damaged(_ damage: String) async throws {
        try await withLoader { server, folder, makeLoader in
            server.answer("a", (200, file(1)))
            let avatar = Avatar.custom(url: server.url("a"))
            _ = try await makeLoader().picture(of: avatar)
            let path = try #require(try files(in: folder).first)
            var bytes = try Data(contentsOf: path)
            switch damage {
            case "damaged": bytes[500] ^= 1
            case "cut": bytes = bytes.dropLast(1)
            case "foreign": bytes = file(9)
            default: bytes = Data()
            }
            try bytes.write(to: path)
            #expect(try await makeLoader().picture(of: avatar) == file(1))
            #expect(server.requests.count == 2)
            #expect(try await makeLoader().picture(of: avatar) == file(1))
            #expect(server.requests.count == 2)
        }
    }

    /// Returns a picture of a message, which needs a URL.
    private static func attachment(_ id: String) -> Message.Attachment {
        var attachment = Message.Attachment(url: "", mimeType: "image/png", bytes: 1)
        attachment.mediaID = id
        return attachment
    }

    @Test("requests of URLs during a request are joined into the next one")
    func joined() async throws {
        let callers = NIOLockedValueBox(0)
        let batches = NIOLockedValueBox([Int]())
        let batcher = PictureURLBatcher { attachments in
            batches.withLockedValue { $0.append(attachments.count) }
            try await eventually("all callers") { callers.withLockedValue { $0 == 50 } }
            return attachments.reduce(into: [:]) { $0[$1] = URL(string: "http://\($1.mediaID ?? "")") }
        }
        // A caller waits before the next one is counted, since both are on the main actor.
        @MainActor @Sendable func url(_ id: String) async throws -> URL? {
            callers.withLockedValue { $0 += 1 }
            return try await batcher.url(for: Self.attachment(id))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let url = try await url("\(number)")
                    #expect(url == URL(string: "http://\(number)"))
                }
            }
            try await group.waitForAll()
        }
        // The last caller is counted before it waits, so that the second request may lack it.
        let sizes = batches.withLockedValue(\.self)
        #expect(sizes.reduce(0, +) == 50 && sizes.count <= 3)
    }

    @Test("asks for one new URL if one has expired")
    func expired() async throws {
        let batches = NIOLockedValueBox(0)
        let base = NIOLockedValueBox("")
        let urls: PictureURLBatcher.Fetch = { attachments in
            let number = batches.withLockedValue { batches in
                batches += 1
                return batches
            }
            let base = base.withLockedValue { $0 }
            return attachments.reduce(into: [:]) { $0[$1] = URL(string: "\(base)\($1.mediaID ?? "")?\(number)") }
        }
        try await withLoader(urls: urls) { server, _, makeLoader in
            base.withLockedValue { $0 = server.url("") }
            server.answer("m?1", (403, Data()))
            server.answer("m?2", (200, file(2)))
            let loader = makeLoader()
            let renewed = try await loader.picture(of: Self.attachment("m"))
            #expect(renewed == file(2))
            #expect(server.requests == ["/m?1", "/m?2"])
            // Both URLs are refused.
            await #expect {
                try await loader.picture(of: Self.attachment("gone"))
            } throws: { error in
                (error as? PostlineError)?.code == .notFound
            }
            #expect(server.requests.count == 4)
            #expect(batches.withLockedValue(\.self) == 4)
        }
    }

    @Test("refuses a picture over the limit, an error of the server, and one without a connection")
    func refused() async throws {
        var limits = FileLimits()
        limits.pictureBytes = 5_000
        try await withLoader(limits) { server, folder, makeLoader in
            server.answer("large", (200, file(1, 5_001)))
            server.answer("failing", (500, Data()), (200, file(1)))
            let loader = makeLoader()
            func code(_ url: String) async -> PostlineError? {
                do {
                    _ = try await loader.picture(of: .custom(url: url))
                    return nil
                } catch { return error }
            }
            let large = await code(server.url("large"))
            #expect(large?.code == .fileTooLarge && large?.field == "picture")
            #expect(await code(server.url("failing"))?.code == .unavailable)
            #expect(await code(server.url("failing")) == nil)
            let port = try await unusedPort()
            #expect(await code("http://127.0.0.1:\(port)/a")?.code == .offline)
            #expect(await code("ftp://example.com/a")?.code == .malformedAnswer)
            #expect(try await loader.picture(of: .builtIn(id: "fox")) == nil)
            await loader.retire()
            #expect(!FileManager.default.fileExists(atPath: folder.path))
            #expect(await code(server.url("failing"))?.code == .signedOut)
        }
    }
}
