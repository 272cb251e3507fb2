import BoundedWait
import Foundation
import GRDB
import Testing

@testable import Postline

@Suite("Client store damage")
@MainActor
struct ClientStoreTests {
    @Test(
        "row 70: a damaged store is replaced, with its readable outbox",
        arguments: Damage.allCases)
    func damaged(_ damage: Damage) async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database)
            defer { node.command.signal(SIGKILL) }
            try await AppDevice.with(.node(node.port)) { device in
                try await device.signIn(.alice)
                let chat = try await device.client.loadedChat(with: .alps)
                while chat.hasOlder { try await chat.loadOlder() }
                await device.client.disconnect()
                for number in 0..<3 { try await device.client.send("waiting \(number)", in: .aliceBob) }
                let file = device.folder.appending(path: "\(Person.alice.id).sqlite")
                // A checkpoint moves all data to the main file, which is then damaged.
                try await DatabaseQueue(path: file.path).writeWithoutTransaction {
                    try $0.execute(sql: "pragma wal_checkpoint(truncate)")
                }
                try damage.strike(file)
                try await device.relaunch()
                try await device.waitUntilLive()
                #expect(device.client.conversations.contains { $0.id == .aliceBob && !$0.users.isEmpty })
                #expect(device.client.me?.username == "alice")
                try await device.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
                let arrived = try await database.column(
                    "select content from messages where content like 'waiting%' order by seq")
                #expect(arrived == (damage.leavesOutbox ? ["waiting 0", "waiting 1", "waiting 2"] : []))
                #expect(FileManager.default.fileExists(atPath: file.path + ".damaged"))
            }
        }
    }

    /// A kind of damage to a file.
    enum Damage: String, CaseIterable {
        case noise, cut, tornTable

        var leavesOutbox: Bool { self == .tornTable }

        func strike(_ file: URL) throws {
            let data = try Data(contentsOf: file)
            switch self {
            case .noise: try Data((0..<data.count).map { _ in UInt8.random(in: 0...255) }).write(to: file)
            case .cut: try data.prefix(3_000).write(to: file)
            case .tornTable:
                // The root page of the table of conversations.
                let queue = try DatabaseQueue(path: file.path)
                let (page, size) = try queue.read { database in
                    (
                        try Int.fetchOne(
                            database, sql: "select rootpage from sqlite_schema where name = 'conversation'") ?? 0,
                        try Int.fetchOne(database, sql: "pragma page_size") ?? 0
                    )
                }
                try queue.close()
                var torn = data
                let start = (page - 1) * size
                torn.replaceSubrange(start..<start + size, with: Data(repeating: 0xA5, count: size))
                try torn.write(to: file)
            }
        }
    }

    @Test("row 70: on a full disk, failed writes throw and confirmed ones stay")
    func fullDisk() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                let folder = FileManager.default.temporaryDirectory.appending(
                    path: "postline-full-\(UUID().uuidString)")
                defer { try? FileManager.default.removeItem(at: folder) }
                func app(fileBytes: Int? = nil) throws -> ClientProcess {
                    try ClientProcess(
                        .swift, folder: folder.path, linePort: node.port, httpPort: 0, fileBytes: fileBytes)
                }
                var first = try app()
                try await first.request(
                    "signIn", ["email": .string(Person.alice.email), "password": "postline-dev"])
                try await eventually("the initial sync") { try await first.request("state")["live"] == true }
                try await first.request("disconnect")
                try await first.kill()
                let sizes = try FileManager.default.contentsOfDirectory(
                    at: folder, includingPropertiesForKeys: [.fileSizeKey]
                )
                .map { try $0.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0 }
                var full = try app(fileBytes: (sizes.max() ?? 0) + 100_000)
                try await full.request("disconnect")
                let text = String(repeating: "x", count: 3_000)
                var refusals: [String] = []
                for number in 0..<100 {
                    do {
                        try await full.request(
                            "send", ["conversation": .string(Room.aliceBob), "text": .string("\(number) \(text)")])
                    } catch let failure as ClientProcess.Failure {
                        refusals.append(failure.code)
                    }
                }
                let queued = full.sentIDs
                #expect(Set(refusals) == ["store_unusable"] && queued.count == 100 - refusals.count)
                #expect(!queued.isEmpty)
                #expect(try await full.request("state")["pending"] == .integer(queued.count))
                try await full.kill()
                // The disk has room again.
                var last = try app()
                try await eventually("all that was kept to arrive") {
                    try await last.request("state")["pending"] == 0
                }
                try await last.kill()
                let kept = try await database.column(
                    "select client_id from messages where content like '%xxx' order by seq")
                #expect(kept.compactMap(\.self) == queued)
            }
        }
    }

    @Test("changes of a newer app version stay queued and block nothing")
    func newerChange() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            await device.client.disconnect()
            let file = device.folder.appending(path: "\(Person.alice.id).sqlite")
            try await DatabaseQueue(path: file.path).write {
                try $0.execute(
                    sql:
                        "insert into change (lane, method, params, created_at) values (?, 'messages.newer', '{}', 0)",
                    arguments: [Room.aliceBob])
            }
            try device.client.connect()
            try await device.waitUntilLive()
            let chat = try await device.client.loadedChat(with: .aliceBob)
            try await chat.send("behind it")
            try await device.waitUntil("the sent message") { _ in chat.messages.last?.delivery == .sent }
        }
    }

    @Test("reads and writes of a store that is closed meanwhile throw signed_out")
    func closed() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "postline-store-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try Store(folder: folder, userID: .alice)
        try store.close(erasing: false)
        for access in [{ try await store.read { _ in } }, { try await store.write { _ in } }] {
            await #expect {
                try await convertingErrors(access)
            } throws: { error in
                (error as? PostlineError)?.code == .signedOut
            }
        }
    }

    @Test("row 70: a store of a newer app version is left alone with an error")
    func newer() async throws {
        try await withDevice { _, _, device in
            try await device.signIn(.alice)
            await device.client.disconnect()
            let file = device.folder.appending(path: "\(Person.alice.id).sqlite")
            try await DatabaseQueue(path: file.path).write {
                try $0.execute(sql: "insert into grdb_migrations values ('99')")
            }
            await #expect {
                try await device.relaunch()
            } throws: { error in
                (error as? PostlineError)?.code == .storeUnusable && "\(error)".contains("newer version")
            }
            #expect(FileManager.default.fileExists(atPath: file.path))
        }
    }
}
