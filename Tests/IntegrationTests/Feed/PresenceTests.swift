import ChangeFeed
import Foundation
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Presence", .timeLimit(.minutes(20)))
struct PresenceTests {
    @Test(
        "shows live users to contacts only, on every node",
        .covers("C11", "C12", "row 65"))
    func contacts() async throws {
        try await withTwoNodes(.telling()) { one, other in
            let bob = try await one.signedIn(.bob)
            let carol = try await other.signedIn(.carol)
            let stranger = try await other.stranger()
            for client in [bob, carol, stranger] { try await client.sync() }
            let alice = try await one.signedIn(.alice)
            try await alice.sync(live: false)
            // Changes are pushed in the order of their arrival at a node.
            let dave = try await one.signedIn(.dave)
            try await dave.sync()
            for client in [bob, carol] {
                try await client.follow("Dave's coming") { $0.showsOnline(.dave) }
                #expect(await client.state.presence[Person.alice.id] == nil)
            }
            try await alice.sync()
            for client in [bob, carol] {
                try await client.follow("Alice's coming") { $0.showsOnline(.alice) }
                #expect(await client.state.presence[Person.alice.id]?["last_seen_at"] == .null)
            }
            try await alice.follow("Bob and Carol") { $0.showsOnline(.bob) && $0.showsOnline(.carol) }
            await alice.close()
            for client in [bob, carol] {
                try await client.follow("Alice's going") { !$0.showsOnline(.alice) }
                expectTimestamp(await client.state.presence[Person.alice.id]?["last_seen_at"])
            }
            #expect(try await stranger.presence(upTo: "gone", on: one.database) == [])
            #expect(await stranger.state.presence.isEmpty)
        }
    }

    @Test("stays online until sessions on both nodes have ended")
    func twoSessions() async throws {
        try await withTwoNodes(.telling()) { one, other in
            let bob = try await one.signedIn(.bob)
            try await bob.sync()
            let first = try await one.signedIn(.alice)
            let second = try await other.signedIn(.alice)
            try await first.sync()
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            try await second.sync()
            let dave = try await other.signedIn(.dave)
            try await dave.sync()
            try await bob.follow("Dave's presence, which was pushed after") { $0.showsOnline(.dave) }
            await first.close()
            try await one.until(Person.alice, isOn: 1)
            #expect(try await bob.presence(upTo: "one of two", on: one.database) == [])
            try await second.call("sync.close")
            try await bob.follow("Alice's going") { !$0.showsOnline(.alice) }
        }
    }

    @Test("stays online during a reconnect")
    func reconnect() async throws {
        try await withTwoNodes(.telling(grace: .seconds(3_600))) { one, other in
            let bob = try await other.signedIn(.bob)
            try await bob.sync()
            let alice = try await one.signedIn(.alice)
            try await alice.sync()
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            await alice.close()
            let back = try await one.signedIn(.alice)
            try await back.sync()
            let dave = try await one.signedIn(.dave)
            try await dave.sync()
            try await bob.follow("Dave's presence, which was pushed after") { $0.showsOnline(.dave) }
            #expect(await bob.received.flatMap { $0.presence(of: .alice) }.count == 1)
        }
    }

    @Test("is offline with background sessions only")
    func background() async throws {
        try await withTwoNodes(.telling()) { one, other in
            let bob = try await other.signedIn(.bob)
            try await bob.sync()
            let alice = try await one.signedIn(.alice)
            try await alice.sync()
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            #expect(try await alice.call("session.set_state", ["state": "background"]) == .object([:]))
            try await bob.follow("Alice's going") { !$0.showsOnline(.alice) }
            // Neither the same setting nor another sync changes anything.
            try await alice.call("session.set_state", ["state": "background"])
            try await alice.sync()
            try await alice.call("session.set_state", ["state": "active"])
            try await bob.follow("Alice's coming back") { $0.showsOnline(.alice) }
            try await alice.refused(.invalidParams, "session.set_state", ["state": "away"], field: "state")
            try await alice.refused(.invalidParams, "session.set_state", field: "state")
        }
    }

    @Test(
        "hides presence in both directions until it is shown again",
        .covers("C12", "row 65"))
    func hidden() async throws {
        try await withTwoNodes(.telling()) { one, other in
            let bob = try await other.signedIn(.bob)
            let alice = try await one.signedIn(.alice)
            try await bob.sync()
            try await alice.sync()
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            try await alice.follow("Bob's coming") { $0.showsOnline(.bob) }

            try await alice.call("me.update", ["preferences": ["presence": "nobody"]])
            try await bob.follow("Alice's hiding") { !$0.showsOnline(.alice) }
            #expect(await bob.state.presence[Person.alice.id]?["last_seen_at"] == .null)
            try await alice.lag()
            try await alice.sync(from: alice.cursor)
            await #expect(alice.state.presence.values.allSatisfy { $0["is_online"] == false })
            let dave = try await other.signedIn(.dave)
            try await dave.sync()
            try await bob.follow("Dave's coming") { $0.showsOnline(.dave) }
            #expect(try await alice.presence(upTo: "hidden", on: one.database) == [])
            for (client, asked) in [(alice, Person.bob), (bob, .alice)] {
                let answer = try await client.call("presence.get", ["user_ids": [.string(asked.id)]])
                #expect(answer == ["presence": [.presence(of: asked.id)]])
            }

            try await alice.call("me.update", ["preferences": ["presence": .null]])
            try await bob.follow("Alice's showing herself") { $0.showsOnline(.alice) }
            try await alice.lag()
            try await alice.sync(from: alice.cursor)
            await #expect(alice.state.showsOnline(.bob))
        }
    }

    @Test("reports all users again after a node's lease expired", .covers("row 64"))
    func paused() async throws {
        try await withAliceElsewhere { _, process, bob in
            process.command.signal(SIGSTOP)
            try await bob.follow("Alice's going") { !$0.showsOnline(.alice) }
            process.command.signal(SIGCONT)
            try await bob.follow("Alice's coming back") { $0.showsOnline(.alice) }
        }
    }

    @Test("a stopped node's users go offline after the reconnect time")
    func stopped() async throws {
        try await withNode(.telling(grace: .seconds(2))) { node in
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            try await withNode(node.database, .telling(grace: .seconds(2), lease: .seconds(3_600))) { other in
                let alice = try await other.signedIn(.alice)
                try await alice.sync()
                try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            }
            try await bob.follow("Alice's going") { !$0.showsOnline(.alice) }
        }
    }

    @Test("is complete in a reset and incremental in a delta")
    func pages() async throws {
        try await withNode(.telling()) { node in
            let carol = try await node.signedIn(.carol)
            try await carol.sync()
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            try await carol.follow("Alice's coming") { $0.showsOnline(.alice) }
            let bob = try await node.signedIn(.bob)
            let world = try await bob.sync(live: false)
            #expect(world.flatMap { $0.presence(of: .alice) } == [.presence(of: Person.alice.id, isOnline: true)])
            #expect(world.flatMap { $0.presence(of: .bob) } == [])
            await alice.close()
            try await carol.follow("Alice's going") { !$0.showsOnline(.alice) }
            let delta = try await bob.sync(from: bob.cursor, live: false)
            #expect(delta.flatMap { $0.presence(of: .alice) }.count == 1)
            #expect(delta.flatMap { $0.presence(of: .carol) } == [])
            await #expect(!bob.state.showsOnline(.alice))
        }
    }

    @Test("comes with a new conversation")
    func newConversation() async throws {
        try await withNode(.telling()) { node in
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            let stranger = try await node.stranger()
            try await stranger.sync()
            try await node.until(stranger.userID, isOn: 1)
            try await stranger.conversation(with: Person.alice.id)
            let user = await stranger.userID
            try await stranger.follow("Alice's presence") { $0.showsOnline(.alice) }
            try await alice.follow("the stranger's presence") { $0.presence[user]?["is_online"] == true }
        }
    }

    @Test(
        "row 65: presence.get returns each user once, and nothing of strangers",
        .covers("C11"))
    func get() async throws {
        try await withNode(.telling()) { node in
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            let alice = try await node.signedIn(.alice)
            let stranger = try await node.stranger()
            try await alice.sync()
            try await stranger.sync()
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            try await node.until(stranger.userID, isOn: 1)
            let unseen = await stranger.userID
            let ids = [nobody, Person.alice.id, unseen, Person.alice.id]
            let answer = try await bob.call("presence.get", ["user_ids": .array(ids.map { .string($0) })])
            #expect(
                answer == [
                    "presence": [
                        .presence(of: nobody), .presence(of: Person.alice.id, isOnline: true), .presence(of: unseen),
                    ]
                ])
            for ids: JSON in [[], "x", .array((0...100).map { _ in .string(nobody) }), ["x"]] {
                try await bob.refused(.invalidParams, "presence.get", ["user_ids": ids], field: "user_ids")
            }
        }
    }
}

/// Runs a body with a node for Bob, and a process as another node for Alice, whom Bob sees. Both have the default
/// presence times.
func withAliceElsewhere(
    _ body: @Sendable (TestNode, ServeProcess, _ bob: TestClient) async throws -> Void
) async throws {
    try await withNode(.standard) { node in
        try await ServeProcess.with(node.database) { process in
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            let alice = try await process.signedIn(.alice)
            try await alice.sync()
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }
            try await body(node, process, bob)
        }
    }
}

extension NodeSettings {
    /// A node with the default presence times.
    fileprivate static var standard: NodeSettings {
        var settings = NodeSettings()
        settings.presence = PresenceTimes()
        return settings
    }

    /// A node with shorter presence times.
    static func telling(
        grace: Duration = .milliseconds(100), lease: Duration = .seconds(120)
    ) -> NodeSettings {
        var times = PresenceTimes()
        times.grace = grace
        times.lease = lease
        times.reportInterval = .milliseconds(20)
        times.renewalInterval = .seconds(1)
        times.nodeCheckInterval = .milliseconds(200)
        var settings = NodeSettings()
        settings.presence = times
        return settings
    }
}

extension TestNode {
    fileprivate func until(_ person: Person, isOn nodes: Int) async throws { try await until(person.id, isOn: nodes) }

    /// Waits until the user is reported by that many nodes.
    fileprivate func until(_ user: String, isOn nodes: Int) async throws {
        try await database.wait(
            for: "select count(*) from app.node_users where user_id = '\(user)'", toBe: "\(nodes)")
    }
}

extension TestClient {
    /// Returns the presence that is pushed up to a change made here.
    func presence(upTo fence: String, on database: TestDatabase) async throws -> [JSON] {
        try await pushesUpTo(fence, on: database).flatMap { $0["presence"]?.arrayValue ?? [] }
    }

    /// Waits for `sync.lagged`.
    func lag() async throws {
        while true {
            let push = try await nextNotification()
            if push.method == "sync.lagged" { return }
            if push.method == "changes" { take(.object(try push.params())) }
        }
    }
}

extension JSON {
    fileprivate func presence(of person: Person) -> [JSON] {
        (self["presence"]?.arrayValue ?? []).filter { $0["user_id"]?.stringValue == person.id }
    }

    /// Returns presence with an unknown last-seen time.
    fileprivate static func presence(of user: String, isOnline: Bool = false) -> JSON {
        ["user_id": .string(user), "is_online": .bool(isOnline), "last_seen_at": .null]
    }
}
