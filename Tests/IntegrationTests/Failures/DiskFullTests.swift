import BoundedWait
import Foundation
import PrivatePostgres
import Testing
@testable import WireProtocol

@Suite("Full database disk", .timeLimit(.minutes(20)))
struct DiskFullTests {
    /// The number of times that the disk is full, and of acknowledged sends before each and in the end.
    private static let (times, between) = (3, 40)

    @Test(
        "row 27: a full disk loses nothing, and the node recovers with space",
        .enabled(if: SmallDisk.isPermitted, "a small file system can be mounted as root only"))
    func full() async throws {
        try await SmallDisk.with(megabytes: 400) { disk in
            let settings = ["max_wal_size": "64MB", "min_wal_size": "32MB", "shared_buffers": "16MB"]
            try await withPrivateServer(settings: settings, in: disk.directory) { postgres, database in
                try await withNode(database) { node in
                    let watcher = try await node.signedIn(.bob)
                    try await watcher.sync()
                    let senders = try await [Person.alice, .bob].asyncMap { try await node.signedIn($0) }
                    let (progress, refusals, stop) = (ProgressCounter(), ProgressCounter(), CompletionFlag())
                    let answered = try await withThrowingTaskGroup(of: [String].self) { group in
                        for (place, sender) in senders.enumerated() {
                            group.addTask {
                                var answered: [String] = []
                                while await !stop.isDone {
                                    let content = Self.content("\(place) \(answered.count)")
                                    try await sender.sendWithRetry(content, to: Room.aliceBob) {
                                        #expect($0 == .unavailable || $0 == .timeout)
                                        await refusals.step()
                                    }
                                    answered.append(content)
                                    await progress.step()
                                }
                                return answered
                            }
                        }
                        group.addTask {
                            for time in 0..<Self.times {
                                await progress.wait(for: Self.between)
                                try await disk.fill()
                                await refusals.wait(for: 10)
                                // The WAL has no space either: the server crashes and cannot recover.
                                let isLast = time == Self.times - 1
                                if isLast {
                                    try await eventually("the server to give up") {
                                        await Self.writeLog(database)
                                        return await postgres.serverProcessID == nil
                                    }
                                }
                                await refusals.wait(for: 10)
                                try disk.free()
                                if isLast { try await postgres.start() }
                            }
                            await progress.wait(for: Self.between)
                            await stop.done()
                            return []
                        }
                        return try await group.reduce(into: []) { $0 += $1 }
                    }
                    #expect(answered.count >= (Self.times + 1) * Self.between)
                    let stored = try await database.column(
                        "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90")
                    #expect(stored.compactMap { $0 }.sorted() == answered.sorted())
                    try await watcher.follow { $0.messages[Room.aliceBob]?[90 + answered.count] != nil }
                    #expect(
                        await watcher.state.arrivals[Room.aliceBob]?.filter { $0 > 90 }
                            == Array(91...90 + answered.count))
                    try await SyncOpenTests.expectEqual(watcher, database, newest: 20)
                }
            }
        }
    }

    /// Returns a text that needs new pages quickly and does not compress.
    private static func content(_ name: String) -> String {
        name + " " + (0..<60).map { _ in UUID().uuidString }.joined()
    }

    /// Writes a megabyte to the WAL, if the server runs and there is space. A server that crashed may recover with the
    /// space of old segments, and takes more then.
    private static func writeLog(_ database: TestDatabase) async {
        _ = try? await database.psql("select pg_logical_emit_message(false, 'fill', repeat('x', 1000000))")
    }
}
