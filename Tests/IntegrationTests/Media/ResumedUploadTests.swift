import Foundation
import Foundations
@testable import Media
import Messaging
import NIOCore
import Synchronization
import Testing

@Suite("Resumed uploads")
struct ResumedUploadTests {
    private static let client = AddressKey("192.0.2.1")
    private static let body = picture(.mp4, bytes: 1_000)

    private static func file(_ type: MediaType = .mp4, bytes: Int = 1_000) -> MediaFile {
        MediaFile(id: .random(), purpose: .message, type: type, bytes: bytes)
    }

    /// Receives the bytes of a part.
    private static func receive(
        _ media: MediaFile, _ part: Range<Int>?, in store: FolderStore, isCut: Bool = false
    ) throws -> IncomingFile.Outcome? {
        let incoming = try store.receive(media, part, from: client, until: Date() + 60)
        let body = body[part ?? 0..<media.bytes]
        try incoming.write(ByteBuffer(bytes: isCut ? body.dropLast(body.count / 2) : body))
        guard isCut else { return try incoming.finish() }
        incoming.discard()
        return nil
    }

    @Test("continue after an interruption, on any node of the folder, until the file is complete")
    func interrupted() async throws {
        try await PictureFolder.with { folder in
            let media = Self.file()
            let store = try folder.store()
            #expect(store.status(of: media) == (0, false))
            #expect(try Self.receive(media, nil, in: store, isCut: true) == nil)
            #expect(store.status(of: media) == (500, false))
            let other = try folder.store()
            #expect(throws: UploadRefusal.offset(500)) { try Self.receive(media, 400..<1_000, in: other) }
            #expect(try Self.receive(media, 500..<700, in: other) == .partial(700))
            #expect(try Self.receive(media, 700..<1_000, in: store) == .stored)
            #expect(store.status(of: media) == (1_000, true))
            #expect(throws: UploadRefusal.used) { try Self.receive(media, nil, in: other) }
            #expect(try folder.files == ["messages/\(media.id)"])
            let stored = FileManager.default.contents(atPath: "\(folder.path)/messages/\(media.id)")
            #expect(stored.map { [UInt8]($0) } == Self.body)
        }
    }

    @Test("do not write the file on two nodes at once")
    func locked() async throws {
        try await PictureFolder.with { folder in
            let media = Self.file()
            let (store, other) = (try folder.store(), try folder.store())
            let first = try store.receive(media, nil, from: Self.client, until: Date() + 60)
            #expect(throws: UploadRefusal.inProgress) { try Self.receive(media, nil, in: other) }
            first.discard()
            #expect(try Self.receive(media, nil, in: other) == .stored)
        }
    }

    @Test("take the place of an upload of the same file that has stalled")
    func stalled() async throws {
        try await PictureFolder.with { folder in
            let time = Mutex(ContinuousClock.now)
            let store = try folder.store(now: { time.withLock(\.self) })
            let media = Self.file()
            let first = try store.receive(media, nil, from: Self.client, until: Date() + 60)
            try first.write(ByteBuffer(bytes: Self.body[..<300]))
            time.withLock { $0 += .seconds(4) }
            #expect(throws: UploadRefusal.inProgress) { try Self.receive(media, 300..<1_000, in: store) }
            time.withLock { $0 += .seconds(1) }
            #expect(try Self.receive(media, 300..<1_000, in: store) == .stored)
            #expect(throws: MediaError.self) { try first.write(ByteBuffer(bytes: Self.body[300..<301])) }
            #expect(first.refusal != nil)
        }
    }

    @Test("remove a file that is not what it was announced as, and pictures that are cut off")
    func removed() async throws {
        try await PictureFolder.with { folder in
            let store = try folder.store()
            #expect(throws: MediaError.self) { try Self.receive(Self.file(.pdf), nil, in: store) }
            #expect(try Self.receive(Self.file(.png), nil, in: store, isCut: true) == nil)
            #expect(try folder.files.isEmpty)
            // An interrupted upload goes with its row, or after its address.
            let media = Self.file()
            #expect(try Self.receive(media, nil, in: store, isCut: true) == nil)
            try await store.remove(media.id, .message)
            #expect(try folder.files.isEmpty)
            #expect(try Self.receive(media, nil, in: store, isCut: true) == nil)
            for (age, isThere) in [(3_500.0, true), (3_700, false)] {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date() - age], ofItemAtPath: "\(folder.path)/incoming/\(media.id)")
                try await store.tidy()
                #expect(try folder.files.isEmpty != isThere)
            }
        }
    }

    @Test(
        "continue once a full disk has room again",
        .enabled(if: SmallDisk.isPermitted, "a small file system can be mounted as root only"))
    func diskFull() async throws {
        try await SmallDisk.with(megabytes: 8) { disk in
            let store = try PictureFolder(path: disk.directory).store()
            let bytes = 4 << 20
            let body = picture(.mp4, bytes: bytes)
            let media = Self.file(bytes: bytes)
            let incoming = try store.receive(media, nil, from: Self.client, until: Date() + 60)
            try incoming.write(ByteBuffer(bytes: body[..<(1 << 20)]))
            try await disk.fill()
            #expect(throws: MediaError.self) { try incoming.write(ByteBuffer(bytes: body[(1 << 20)...])) }
            incoming.discard()
            try disk.free()
            let (received, isComplete) = store.status(of: media)
            #expect(received >= 1 << 20 && received < bytes && !isComplete)
            let rest = try store.receive(media, received..<bytes, from: Self.client, until: Date() + 60)
            try rest.write(ByteBuffer(bytes: body[received...]))
            #expect(try rest.finish() == .stored)
            let stored = FileManager.default.contents(atPath: "\(disk.directory)/messages/\(media.id)")
            #expect(stored.map { [UInt8]($0) } == body)
        }
    }
}
