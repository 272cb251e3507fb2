import BoundedWait
import Foundation
import GRDB
import Postline
import Testing

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
                let chat = device.client.chat(with: Room.alps)
                while chat.hasOlder { try await chat.loadOlder() }
                await device.client.disconnect()
                for number in 0..<3 { try await device.client.send("waiting \(number)", in: Room.aliceBob) }
                let file = device.folder.appending(path: "\(Person.alice.id).sqlite")
                // A checkpoint moves all data to the main file, which is then damaged.
                try await DatabaseQueue(path: file.path).writeWithoutTransaction {
                    try $0.execute(sql: "pragma wal_checkpoint(truncate)")
                }
                try damage.strike(file)
                try await device.relaunch()
                try await device.waitUntilLive()
                #expect(device.client.conversations.contains { $0.id == Room.aliceBob && !$0.people.isEmpty })
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
                func app(fileBytes: Int? = nil) async throws -> Command {
                    let app = try Command(
                        [folder.path, "\(node.port)", Person.alice.email, "postline-dev"],
                        of: try Command.executable("client-program").path, fileBytes: fileBytes)
                    try await app.waitForOutput("ready\n")
                    return app
                }
                let first = try await app()
                try await eventually("the initial sync") { try (await snapshot(of: first)).contains("\"live\":true") }
                try first.type("offline")
                _ = try await snapshot(of: first)
                first.signal(SIGKILL)
                _ = try await first.exit()
                let sizes = try FileManager.default.contentsOfDirectory(
                    at: folder, includingPropertiesForKeys: [.fileSizeKey]
                )
                .map { try $0.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0 }
                let full = try await app(fileBytes: (sizes.max() ?? 0) + 100_000)
                try full.type("offline")
                let text = String(repeating: "x", count: 3_000)
                for number in 0..<100 { try full.type("send \(Room.aliceBob) \(number) \(text)") }
                let state = try await snapshot(of: full)
                let queued = full.output.split(separator: "\n").filter { $0.hasPrefix("queued ") }.map {
                    $0.dropFirst(7)
                }
                #expect(full.output.contains("error send: store_unusable: The store"))
                #expect(!queued.isEmpty && queued.count < 100)
                #expect(state.contains("\"waiting\":\(queued.count)"))
                full.signal(SIGKILL)
                _ = try await full.exit()
                // The disk has room again.
                let last = try await app()
                defer { last.signal(SIGKILL) }
                try await eventually("all that was kept to arrive") {
                    try (await snapshot(of: last)).contains("\"waiting\":0")
                }
                let kept = try await database.column(
                    "select client_id from messages where content like '%xxx' order by seq")
                #expect(kept.compactMap(\.self) == queued.map(String.init))
            }
        }
    }

    /// Returns the state that an app reports.
    private nonisolated func snapshot(of app: Command) async throws -> String {
        let number = UUID().uuidString
        try app.type("snapshot \(number)")
        try await app.waitForOutput("snapshot \(number) ", then: "\n")
        let text = app.output.components(separatedBy: "snapshot \(number) ").last ?? ""
        return String(text.prefix { $0 != "\n" })
    }

    @Test("changes of a newer app version stay queued and block nothing")
    func newerChange() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                try await AppDevice.with(.node(node.port)) { device in
                    try await device.signIn(.alice)
                    await device.client.disconnect()
                    let file = device.folder.appending(path: "\(Person.alice.id).sqlite")
                    try await DatabaseQueue(path: file.path).write {
                        try $0.execute(
                            sql:
                                "insert into change (lane, method, params, created_at) values (?, 'messages.pin', '{}', 0)",
                            arguments: [Room.aliceBob])
                    }
                    try device.client.connect()
                    try await device.waitUntilLive()
                    let chat = device.client.chat(with: Room.aliceBob)
                    try await chat.send("behind it")
                    try await device.waitUntil("the sent message") { _ in chat.messages.last?.delivery == .sent }
                }
            }
        }
    }

    @Test("row 70: a store of a newer app version is left alone with an error")
    func newer() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                try await AppDevice.with(.node(node.port)) { device in
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
    }
}
