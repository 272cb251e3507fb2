import BoundedWait
@testable import ChangeFeed
@testable import DatabaseAccess
@testable import Postgres
import LineClient
import PrivatePostgres
import Testing
@testable import WireProtocol

@Suite("Reading from a standby", .timeLimit(.minutes(20)))
struct StandbyTests {
    /// A primary with a standby, a node that uses both, and one that uses the primary only.
    private struct StandbySetup: Sendable {
        let primary: PrivatePostgres
        let standby: PrivatePostgres
        let database: TestDatabase
        let copy: TestDatabase

        /// The node with its feed and lists on the standby.
        let node: TestNode

        /// The node with everything on the primary.
        let other: TestNode

        func pause() async throws { try await standby.psql("select pg_wal_replay_pause()") }
        func resume() async throws { try await standby.psql("select pg_wal_replay_resume()") }

        /// Returns the number of the node's statements on the standby.
        func connections() async throws -> Int {
            try await Int(copy.value("select count(*) from pg_stat_activity where usename = 'postline'") ?? "") ?? 0
        }

        /// Waits until the feed polls the standby.
        func awaitStandby() async throws {
            try await eventually("the feed to look at the standby") {
                try await copy.value(
                    "select count(*) from pg_stat_activity where usename = 'postline' and query like '%poll_changes%'")
                    != "0"
            }
        }
    }

    private static func withStandbySetup(_ body: @Sendable (StandbySetup) async throws -> Void) async throws {
        try await withPrivateServer { primary, database in
            try await withStandby(of: primary) { standby, copy in
                var settings = NodeSettings()
                // Connects to whichever of the two is writable.
                let hosts = [database.socketDirectory, copy.socketDirectory].joined(separator: ",")
                settings.databaseURL =
                    "postgresql:///world?host=\(hosts)&user=postline&target_session_attrs=read-write"
                settings.standbyDatabaseURL = copy.url
                try await withNode(database, settings) { node in
                    try await withNode(database) { other in
                        let setup = StandbySetup(
                            primary: primary, standby: standby, database: database, copy: copy, node: node,
                            other: other)
                        try await setup.awaitStandby()
                        try await body(setup)
                    }
                }
            }
        }
    }

    @Test("pushes others' writes, and reads the user's own at once")
    func together() async throws {
        try await Self.withStandbySetup { setup in
            let bob = try await setup.node.signedIn(.bob)
            try await bob.sync()
            let alice = try await setup.node.signedIn(.alice)
            for number in 1...50 {
                let sent = try await alice.send("\(number)", to: Room.aliceBob)
                let page = try await alice.call(
                    "messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
                #expect(page["messages"]?[0]?["id"] == sent["id"])
            }
            try await bob.follow { $0.has("50", in: Room.aliceBob) }
            #expect(await bob.state.arrivals[Room.aliceBob]?.suffix(50) == Array(91...140)[...])
            #expect(try await setup.connections() > 1)
        }
    }

    @Test("transactions open at a cursor arrive once they commit")
    func inProgress() async throws {
        try await Self.withStandbySetup { setup in
            let live = try await setup.node.signedIn(.bob)
            try await live.sync()
            let returning = try await setup.node.signedIn(.bob)
            try await returning.sync(live: false)
            for round in 1...5 {
                let program = try await setup.database.connect()
                _ = try await program.execute(
                    "begin; update public.user_profiles set full_name = 'In progress \(round)' where id = '\(Person.alice.id)'"
                )
                // Later transactions end before it, so that the standby's snapshot includes it.
                let carol = try await setup.node.signedIn(.carol)
                for number in 1...10 { try await carol.send("\(round) \(number)", to: Room.alps) }
                _ = try await live.pushesUpTo("before \(round)", on: setup.database)
                try await eventually("the cursor of one who comes back to be of after that") {
                    try await returning.sync(from: returning.cursor, live: false)
                    return await returning.state.me?["preferences"]?["fence"]?.stringValue == "before \(round)"
                }
                _ = try await program.execute("commit")
                await program.close()
                try await live.follow { $0.profiles[Person.alice.id]?["full_name"] == .string("In progress \(round)") }
                try await eventually("one who comes back to learn of it") {
                    try await returning.sync(from: returning.cursor, live: false)
                    return await returning.state.profiles[Person.alice.id]?["full_name"]
                        == .string("In progress \(round)")
                }
            }
            // And nothing twice.
            for client in [live, returning] {
                let names = await client.received.flatMap { $0["profiles"]?.arrayValue ?? [] }
                    .filter { $0["id"]?.stringValue == Person.alice.id }.compactMap { $0["full_name"]?.stringValue }
                #expect(names.filter { $0.hasPrefix("In progress") } == (1...5).map { "In progress \($0)" })
            }
        }
    }

    @Test("waits for a standby that is behind another node's cursor")
    func ahead() async throws {
        try await Self.withStandbySetup { setup in
            let before = try await setup.other.signedIn(.bob)
            try await before.sync()
            let alice = try await setup.other.signedIn(.alice)
            try await setup.pause()
            try await alice.send("seen", to: Room.aliceBob)
            try await before.follow { $0.has("seen", in: Room.aliceBob) }
            _ = try await before.pushesUpTo("there", on: setup.database)
            let cursor = await before.cursor
            try await alice.send("not seen", to: Room.aliceBob)

            let after = try await setup.node.signedIn(.bob)
            async let pages = after.sync(from: cursor)
            // Other clients of that node do not wait with it.
            try await setup.node.signedIn(.carol).send("meanwhile", to: Room.aliceCarol)
            try await setup.resume()
            let page = try await pages[0]
            #expect(page["reset"] == false)
            try await after.follow { $0.has("not seen", in: Room.aliceBob) }
            let contents = await after.received.flatMap { $0["messages"]?.arrayValue ?? [] }
                .compactMap { $0["content"]?.stringValue }
            #expect(contents == ["not seen"])
        }
    }

    @Test("a cursor ahead of the primary is a reset without waiting")
    func ofTheFuture() async throws {
        try await Self.withStandbySetup { setup in
            let bob = try await setup.node.signedIn(.bob)
            let good = try #require(try await bob.sync(live: false)[0]["cursor"]?.stringValue)
            let epoch = good.split(separator: "/")[1]
            let forged = ForgedCursorTests.sealed(["1", String(epoch), "1:9223372036854775807:"])
            #expect(try await bob.sync(from: forged, live: false)[0]["reset"] == true)
        }
    }

    @Test("does not wait for a standby that has the whole log")
    func segmentEnd() async throws {
        try await withPrivateServer { primary, database in
            try await withStandby(of: primary) { _, copy in
                let settings = Feed.Settings(
                    url: database.url, standbyURL: copy.url,
                    limits: StatementLimits(statement: .seconds(60), lock: .seconds(30)))
                let reactor = Reactor(name: "standby")
                let watch = StandbyWatch(url: copy.url, settings: settings, reactor: reactor, logger: .quiet)
                let wakeSignal = WakeSignal(on: reactor)
                async let _: Void = watch.run(wakeSignal)
                try await database.psql("select pg_switch_wal()")
                wakeSignal.signal()
                try await watch.due.next()
                let mark = try #require(await watch.mark)
                // The server may write a record of its own before the mark, and flush it only later.
                try await eventually("the standby to replay the mark") {
                    let replayed = try await copy.value("select pg_last_wal_replay_lsn()") ?? ""
                    return try #require(LogPosition(replayed)) >= mark.end
                }
            }
        }
    }

    @Test("leaves a stalled standby, and returns when it follows")
    func standsStill() async throws {
        try await Self.withStandbySetup { setup in
            let bob = try await setup.node.signedIn(.bob)
            try await bob.sync()
            let alice = try await setup.node.signedIn(.alice)
            try await setup.pause()
            try await alice.send("while it stands", to: Room.aliceBob)
            // The user's own write, from the primary.
            let list = try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            #expect(list["messages"]?[0]?["content"] == "while it stands")
            try await bob.follow { $0.has("while it stands", in: Room.aliceBob) }
            try await setup.resume()
            try await setup.awaitStandby()
            try await alice.send("when it follows", to: Room.aliceBob)
            try await bob.follow { $0.has("when it follows", in: Room.aliceBob) }
            #expect(await bob.state.arrivals[Room.aliceBob]?.suffix(2) == [91, 92])
        }
    }

    @Test(
        "survives a lost standby under load, without loss or duplicates"
    )
    func lost() async throws {
        try await Self.withStandbySetup { setup in
            let bob = try await setup.node.signedIn(.bob)
            try await bob.sync()
            let alice = try await setup.node.signedIn(.alice)
            let (progress, stop) = (ProgressCounter(), CompletionFlag())
            async let sent = {
                var number = 0
                while await !stop.isDone {
                    number += 1
                    try await alice.send("\(number)", to: Room.aliceBob)
                    await progress.step()
                }
                return number
            }()
            for _ in 1...3 {
                await progress.wait(for: 20)
                try await setup.standby.stop(mode: .immediate)
                await progress.wait(for: 20)
                let list = try await bob.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
                #expect(list["messages"]?.arrayValue?.count == 1)
                try await setup.standby.start()
                try await setup.awaitStandby()
            }
            await progress.wait(for: 20)
            await stop.done()
            let count = try await sent
            try await bob.follow { $0.has("\(count)", in: Room.aliceBob) }
            #expect(await bob.state.arrivals[Room.aliceBob]?.suffix(count) == Array(91...(90 + count))[...])
        }
    }

    @Test("does not read from a standby whose login role bypasses RLS")
    func login() async throws {
        try await withPrivateServer { primary, database in
            try await withStandby(of: primary) { _, copy in
                var settings = NodeSettings()
                settings.standbyDatabaseURL = copy.adminURL
                try await withNode(database, settings) { node in
                    let bob = try await node.signedIn(.bob)
                    try await bob.sync()
                    let alice = try await node.signedIn(.alice)
                    try await alice.send("all the same", to: Room.aliceBob)
                    try await bob.follow { $0.has("all the same", in: Room.aliceBob) }
                    #expect(node.metrics.value("postline_feed_polls_standby") == 0)
                }
            }
        }
    }

    @Test("doctor reports a stalled, unrelated or unprotected standby")
    func doctor() async throws {
        try await Self.withStandbySetup { setup in
            func finding(_ replica: String) async throws -> String? {
                let result = try await Command.run(
                    ["doctor"],
                    environment: [
                        "POSTLINE_DATABASE_URL": setup.database.url, "POSTLINE_JWT_SECRET": TestNode.secret,
                        "POSTLINE_REPLICA_DATABASE_URL": replica,
                    ])
                return result.output.split(separator: "\n").map(String.init).last { $0.contains(" replica ") }
            }
            let follows = try await finding(setup.copy.url)
            #expect(follows?.contains("The replica follows the database.") == true)
            try await setup.pause()
            try await setup.database.psql("update public.user_profiles set bio = 'unseen'")
            let heldUp = try await finding(setup.copy.url)
            #expect(heldUp?.contains("bytes of the log that the primary had two seconds ago") == true)
            try await setup.resume()
            let above = try await finding(setup.copy.adminURL)
            #expect(above?.contains("is a superuser") == true)
            let none = try await finding(setup.database.url)
            let away = try await finding("postgresql://postline@/nowhere?host=/nowhere")
            #expect(none?.contains("leads to a primary") == true)
            #expect(away?.contains("not reached") == true)
        }
    }

    @Test("a promotion resets clients, which then equal the new primary")
    func promoted() async throws {
        try await Self.withStandbySetup { setup in
            let bob = try await setup.node.signedIn(.bob)
            try await bob.sync()
            let alice = try await setup.node.signedIn(.alice)
            try await alice.send("before", to: Room.aliceBob)
            try await bob.follow { $0.has("before", in: Room.aliceBob) }
            let cursor = await bob.cursor
            try await setup.primary.stop(mode: .immediate)
            try await setup.standby.psql("select pg_promote()")
            let again: TestClient = try await eventually("the node to serve from what was promoted") {
                do {
                    let client = try await setup.node.signedIn(.alice)
                    try await client.send("after", to: Room.aliceBob)
                    return client
                } catch { return nil }
            }
            let back: TestClient = try await eventually("its feed to be of after that") {
                let client = try await setup.node.signedIn(.bob)
                let page = try await client.sync(from: cursor)[0]
                if page["reset"] == true { return client }
                await client.close()
                return nil
            }
            #expect(await back.state.has("before", in: Room.aliceBob))
            try await again.send("and on", to: Room.aliceBob)
            try await back.follow { $0.has("and on", in: Room.aliceBob) }
        }
    }
}
