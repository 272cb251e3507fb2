import BoundedWait
import Foundation
import LineClient
import Postgres
import PrivatePostgres
import Testing
import WireProtocol

@Suite("Unreachable database", .timeLimit(.minutes(20)))
struct UnreachableDatabaseTests {
    @Test("requests fail as unavailable, and the node recovers by itself")
    func away() async throws {
        try await withPrivateServer { postgres, database in
            try await postgres.stop()
            try await withNode(database, NodeSettings(poolWait: .seconds(3))) { node in
                let alice = try await node.connect()
                let login: JSONObject = ["email": "alice@example.com", "password": .string(TestNode.password)]
                let error = try await alice.refused(.unavailable, "auth.login", login)
                #expect(error?.isRetryable == true)
                // Requests that need no database are answered meanwhile.
                try await alice.call("server.info")

                try await postgres.start()
                try await alice.untilAvailable("auth.login", login)
                try await alice.untilAvailable("me.get")
                try await alice.syncWhenAvailable()
                let bob = try await node.signedIn(.bob)
                try await bob.send("back", to: Room.aliceBob)
                try await alice.follow { $0.has("back", in: Room.aliceBob) }

                try await postgres.stop()
                try await bob.refused(
                    .unavailable, "messages.send", ["conversation_id": .string(Room.aliceBob), "content": "lost"])
                try await bob.refused(.unavailable, "sync.open")
                try await bob.call("server.info")

                try await postgres.start()
                // The live session remains live and has missed nothing, including the first changes of psql.
                try await database.psql(
                    "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', 'first')"
                )
                try await bob.sendWithRetry("again", to: Room.aliceBob)
                try await alice.follow { $0.has("again", in: Room.aliceBob) }
                #expect(await alice.state.contents(Room.aliceBob).suffix(3) == ["back", "first", "again"])
                #expect(await alice.state.arrivals[Room.aliceBob]?.suffix(3) == [91, 92, 93])
            }
        }
    }

    @Test(
        "row 16: killed backends lose no acknowledged write"
    )
    func killed() async throws {
        try await withPrivateServer { _, database in
            try await Self.underLoad(on: database) {
                // The server may still be recovering from the previous round.
                let backend: Int32 = try await eventually("a backend to kill") {
                    let backends = try? await database.column(
                        "select pid from pg_stat_activity where usename = 'postline' and datname = current_database()")
                    return backends?.randomElement().flatMap { $0 }.flatMap { Int32($0) }
                }
                kill(backend, SIGKILL)
            }
        }
    }

    @Test("row 17: a database restart under load loses nothing")
    func restarted() async throws {
        try await withPrivateServer { postgres, database in
            try await Self.underLoad(on: database) {
                try await postgres.stop(mode: .fast)
                try await postgres.start()
            }
        }
    }

    /// Sends from several clients during three faults, and compares all clients with the database.
    private static func underLoad(
        on database: TestDatabase, _ something: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withNode(database) { node in
            let watchers = try await [Person.alice, .bob].asyncMap { person in
                let client = try await node.signedIn(person)
                try await client.sync()
                return client
            }
            let senders = try await [Person.alice, .bob].asyncMap { try await node.signedIn($0) }
            let progress = ProgressCounter()
            let stop = CompletionFlag()
            let answered = try await withThrowingTaskGroup(of: [String].self) { group in
                for (place, sender) in senders.enumerated() {
                    group.addTask {
                        var answered: [String] = []
                        while await !stop.isDone {
                            let content = "\(place) \(answered.count)"
                            try await sender.sendWithRetry(content, to: Room.aliceBob)
                            answered.append(content)
                            await progress.step()
                        }
                        return answered
                    }
                }
                group.addTask {
                    for _ in 0..<3 {
                        await progress.wait(for: 40)
                        try await something()
                        await progress.wait(for: 10)
                    }
                    await stop.done()
                    return []
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            // On a busy machine the last kill may not have been noticed yet.
            let stored: [String?] = try await eventually("the database to respond") {
                do {
                    return try await database.column(
                        "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90")
                } catch is PostgresError { return nil }
            }
            #expect(stored.compactMap { $0 }.sorted() == answered.sorted())
            let last = 90 + answered.count
            for watcher in watchers {
                try await watcher.follow { $0.messages[Room.aliceBob]?[last] != nil }
                try await SyncOpenTests.expectEqual(watcher, database, newest: 20)
                #expect(await watcher.state.arrivals[Room.aliceBob]?.filter { $0 > 90 } == Array(91...last))
            }
        }
    }

    @Test("row 26: without connection slots requests fail within a bound")
    func noSlots() async throws {
        try await withPrivateServer(settings: ["max_connections": "12", "superuser_reserved_connections": "2"]) {
            _, database in
            let hogs = try await (0..<10).asyncMap { _ in try await database.connect(as: "postline") }
            try await withNode(database, NodeSettings(poolWait: .seconds(3))) { node in
                let alice = try await node.connect()
                let login: JSONObject = ["email": "alice@example.com", "password": .string(TestNode.password)]
                try await alice.refused(.unavailable, "auth.login", login)
                for hog in hogs { await hog.close() }
                try await alice.untilAvailable("auth.login", login)
                try await alice.syncWhenAvailable()
                try await alice.send("served", to: Room.aliceBob)
                try await alice.follow { $0.has("served", in: Room.aliceBob) }
            }
        }
    }
}

extension TestClient {
    /// Opens a sync, from its beginning, until no page is `unavailable`.
    func syncWhenAvailable() async throws {
        _ = try await eventually("a sync") {
            do { return try await sync() } catch let error as RemoteError where error.knownCode == .unavailable {
                return nil
            }
        }
    }

    /// Retries until the result is not `unavailable`.
    @discardableResult
    func untilAvailable(_ method: String, _ params: JSONObject = [:]) async throws -> JSON {
        try await eventually("\(method) to be available") {
            do {
                return try await call(method, params)
            } catch let error as RemoteError where error.knownCode == .unavailable {
                return nil
            }
        }
    }
}

/// A counter whose progress others can await.
actor ProgressCounter {
    private var count = 0
    private var waiters: [(at: Int, CheckedContinuation<Void, Never>)] = []

    func step() {
        count += 1
        waiters.removeAll { waiter in
            guard waiter.at <= count else { return false }
            waiter.1.resume()
            return true
        }
    }

    /// Waits until the count has grown by `more`.
    func wait(for more: Int) async {
        let goal = count + more
        await withCheckedContinuation { waiters.append((goal, $0)) }
    }
}
