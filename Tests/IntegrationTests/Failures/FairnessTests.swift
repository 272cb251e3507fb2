import Accounts
import BoundedWait
import DatabaseAccess
import Foundations
import LineClient
import Messaging
@testable import Postgres
import TestSupport
import Testing
import WireProtocol

/// The limits of one user's effect on others.
@Suite("Fairness between users", .timeLimit(.minutes(20)))
struct FairnessTests {
    /// Limits that apply, but that the test's requests do not reach.
    private static var rates: Rates {
        var rates = Rates()
        rates.sendsPerSecond = 100_000
        rates.signInsPerMinute = 100_000
        return rates
    }

    /// Adds users without conversations, and returns their ids.
    private static func addUsers(_ count: Int, to node: TestNode) async throws -> [String] {
        try await node.database.column(
            """
            insert into auth.users (id, email)
            select gen_random_uuid(), 'large.' || n || '@example.org' from generate_series(1, \(count)) n
            returning id
            """
        ).compactMap(\.self)
    }

    // A5
    @Test("requests at a locked row leave half of the pool to others", arguments: [true, false])
    func lockedRow(hasShares: Bool) async throws {
        let settings = NodeSettings(
            poolSize: 4, poolWait: .seconds(3), rates: hasShares ? Self.rates : nil)
        try await withNode(settings) { node in
            let alice = try await node.signedIn(.alice)
            let sent = try await alice.send("first", to: Room.aliceBob)
            let seq = try #require(sent["seq"]?.integerValue)
            let version = try #require(sent["version"]?.integerValue)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id = '\(Room.aliceBob)' for update")
            var editors: [TestClient] = []
            for _ in 0..<16 { editors.append(try await node.signedIn(.alice)) }
            try await withThrowingTaskGroup(of: JSON.self) { group in
                for (number, editor) in editors.enumerated() {
                    group.addTask {
                        try await editor.call(
                            "messages.edit",
                            [
                                "conversation_id": .string(Room.aliceBob), "seq": .integer(seq),
                                "content": .string("edit \(number)"),
                            ])
                    }
                }
                try await node.database.wait(for: TestDatabase.lockWaiters(), toBe: "2")
                let carol = try await node.signedIn(.carol)
                for number in 1...20 {
                    try await carol.send("meanwhile \(number)", to: Room.aliceCarol)
                    try await carol.call("conversations.list")
                }
                _ = try await program.execute("commit")
                try await group.waitForAll()
            }
            await program.close()
            let page = try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            #expect(page["messages"]?.arrayValue?.first?["version"]?.integerValue == version + 16)
            #expect((node.metrics.value("postline_database_lock_retries_total") ?? 0) >= 2)
        }
    }

    // A3
    @Test(
        "a user's flood delays only its own requests",
        arguments: ["conversations.list", "sync.open", "me.get"])
    func flood(method: String) async throws {
        try await withNode(NodeSettings(poolSize: 2, poolWait: .seconds(3), rates: Self.rates)) { node in
            let carol = try await node.signedIn(.carol)
            var flooders: [TestClient] = []
            for _ in 0..<12 { flooders.append(try await node.signedIn(.alice)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for flooder in flooders {
                    group.addTask {
                        for _ in 0..<20 {
                            // On a busy machine a flooder waits too long for the others.
                            do { try await flooder.call(method) } catch let error as RemoteError
                                where error.knownCode == .unavailable
                            {}
                        }
                    }
                }
                for number in 1...20 {
                    try await carol.send("meanwhile \(number)", to: Room.aliceCarol)
                    try await carol.call("sync.open")
                    try await node.signedIn(.bob).close()
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(
        "delays only the user that exceeds its request rate",
        arguments: ["server.info", "no.such", "me.update"])
    func cheapRequests(method: String) async throws {
        var rates = Rates.withoutRefill
        rates.sendsPerSecond = 1
        rates.sendBurst = 1
        try await withNode(NodeSettings(rates: rates)) { node in
            let (alice, again) = (try await node.signedIn(.alice), try await node.signedIn(.alice))
            let carol = try await node.signedIn(.carol)
            #expect(node.delayedRequests == 0)
            // 20 at once, whatever the result and the connection.
            for _ in 0..<10 { for client in [alice, again] { _ = try? await client.call(method, ["bio": "b"]) } }
            #expect(node.delayedRequests == 0)
            try await alice.call("me.get")
            #expect(node.delayedRequests == 1)
            try await carol.call("me.get")
            #expect(node.delayedRequests == 1)
            try await again.call("me.get")
            #expect(node.delayedRequests == 2)
        }
    }

    @Test("a request of 64 KiB counts as 17, before it is parsed")
    func largeRequests() async throws {
        try await withNode(NodeSettings(rates: .withoutRefill)) { node in
            try await node.countRequests(5_000 - 17)
            let client = try await node.connect()
            let large = #"{"jsonrpc":"2.0","id":1,"method":""#
            try await client.line.send(line: large + String(repeating: "x", count: 65_536 - large.utf8.count))
            #expect(try await client.nextLine().contains("parse_error"))
            #expect(node.delayedRequests == 0)
            try await client.call("server.info")
            #expect(node.delayedRequests == 1)
        }
    }

    @Test("counts HTTP requests that are rejected because of their head, and batches")
    func rejectedHeads() async throws {
        try await withNode(NodeSettings(rates: .withoutRefill)) { node in
            try await node.countRequests(5_000)
            let many = "/?" + String(repeating: "a&", count: 100)
            for (count, target) in ["/v1/changes?a&a", "/v1/nothing", "/%ff", many].enumerated() {
                let answer = try await RawSocketClient.connect(port: node.httpPort).exchange(
                    Array("GET \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8))
                #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 4"))
                #expect(node.delayedRequests == Double(count + 1), "\(target)")
            }
        }
        try await withNode(NodeSettings(rates: .withoutRefill)) { node in
            try await node.countRequests(5_000 - 50)
            let client = try await node.connect()
            let calls = (1...50).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"server.info"}"# }
            try await client.line.send(line: "[\(calls.joined(separator: ","))]")
            #expect(try await client.nextLine().contains(#""id":50"#))
            #expect(node.delayedRequests == 0)
            try await client.call("server.info")
            #expect(node.delayedRequests == 1)
        }
    }

    @Test("a head of 14 KB counts as 13 requests")
    func largeHeads() async throws {
        try await withNode(NodeSettings(rates: .withoutRefill)) { node in
            try await node.countRequests(5_000 - 13)
            for (padding, delayed) in [(14_000, 0.0), (1, 1)] {
                _ = try await RawSocketClient.connect(port: node.httpPort).exchange(
                    Array(
                        ("GET /v1/nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Pad: "
                            + String(repeating: "a", count: padding) + "\r\n\r\n").utf8))
                #expect(node.delayedRequests == delayed)
            }
        }
    }

    @Test("a user's waiting requests occupy no slot of sync.open")
    func waitingSync() async throws {
        try await withNode(NodeSettings(poolSize: 8, rates: Self.rates)) { node in
            let program = try await node.database.connect()
            let rows = "'\(Person.alice.id)', '\(Person.bob.id)'"
            _ = try await program.execute("begin; select from public.user_profiles where id in (\(rows)) for update")
            let carol = try await node.signedIn(.carol)
            try await withThrowingTaskGroup(of: JSON.self) { group in
                // A user's share is two requests, and sync.open has two slots.
                for person in [Person.alice, .alice, .bob, .bob] {
                    let client = try await node.signedIn(person)
                    group.addTask { try await client.call("me.update", ["bio": "waits"]) }
                }
                try await node.database.wait(for: TestDatabase.lockWaiters(), toBe: "4")
                for person in [Person.alice, .bob] {
                    let client = try await node.signedIn(person)
                    group.addTask { try await client.call("sync.open", ["live": false]) }
                }
                for _ in 1...10 { try await carol.call("me.get") }
                try await carol.call("sync.open", ["live": false])
                _ = try await program.execute("commit")
                try await group.waitForAll()
            }
            await program.close()
        }
    }

    @Test("a user reads one page of sync.open at a time")
    func onePage() async throws {
        try await withNode(NodeSettings(poolSize: 16, rates: Self.rates)) { node in
            var clients: [TestClient] = []
            for person in [Person.alice, .alice, .alice, .bob] { clients.append(try await node.signedIn(person)) }
            let program = try await node.database.connect()
            _ = try await program.execute("begin; lock table public.user_profiles")
            try await withThrowingTaskGroup(of: JSON.self) { group in
                for client in clients { group.addTask { try await client.call("sync.open", ["live": false]) } }
                try await node.database.wait(for: TestDatabase.lockWaiters(), toBe: "2")
                try await eventually("two to wait") { await node.waitingSyncs == 2 }
                _ = try await program.execute("commit")
                try await group.waitForAll()
            }
            await program.close()
        }
    }

    @Test("edits and attachments count as texts")
    func textBytes() async throws {
        var rates = Rates.withoutRefill
        rates.textBytesPerSecond = 100
        try await withNode(NodeSettings(rates: rates)) { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let seq = try #require(try await alice.send("short", to: Room.aliceBob)["seq"])
            let text = JSON.string(String(repeating: "x", count: 5_000))
            let edit: JSONObject = ["conversation_id": .string(Room.aliceBob), "seq": seq, "content": text]
            try await alice.call("messages.edit", edit)
            try await alice.refused(.rateLimited, "messages.edit", edit)
            let url = "https://pictures.example/" + String(repeating: "x", count: 2_000)
            let image: JSONObject = [
                "conversation_id": .string(Room.aliceBob), "kind": "image",
                "attachment": .object(["url": .string(url)]),
            ]
            for _ in 1...3 { try await bob.call("messages.send", image) }
            try await bob.refused(.rateLimited, "messages.send", image)
        }
    }

    @Test("an edit that sets mentions counts as one change per ten members, who are all told")
    func mentionEdits() async throws {
        try await withNode(NodeSettings(rates: .withoutRefill)) { node in
            let alice = try await node.signedIn(.alice)
            let group = try #require(
                try await alice.call(
                    "conversations.create_group", ["title": "Large", "member_ids": [.string(Person.bob.id)]])["id"]?
                    .stringValue)
            try await node.database.psql(
                """
                insert into public.conversation_members (conversation_id, user_id)
                select '\(group)', id from unnest('\(try await Self.addUsers(28, to: node).arrayLiteral)'::uuid[]) id
                """)
            let seq = try #require(try await alice.send("short", to: group)["seq"])
            let edit: JSONObject = ["conversation_id": .string(group), "seq": seq, "content": "changed"]
            // The group is one change, and the edit of 30 members three.
            let burst = Rates().sendBurst
            for _ in 1...burst - 4 { try await alice.call("messages.edit", edit) }
            let mentioning = JSONObject(edit.members + [.init(name: "mentions", value: [])])
            try await alice.call("messages.edit", mentioning)
            try await alice.refused(.rateLimited, "messages.edit", edit)
        }
    }

    @Test("creating a group counts as one change per ten members")
    func largeGroups() async throws {
        try await withNode(NodeSettings(rates: .withoutRefill)) { node in
            let alice = try await node.signedIn(.alice)
            let others = try await Self.addUsers(29, to: node).map { JSON.string($0) }
            let small: JSONObject = ["title": "One", "member_ids": [others[0]]]
            let burst = Rates().sendBurst
            for _ in 1...burst - 3 { try await alice.call("conversations.create_group", small) }
            // Thirty members are three changes.
            try await alice.call("conversations.create_group", ["title": "Three", "member_ids": .array(others)])
            try await alice.refused(.rateLimited, "conversations.create_group", small)
        }
    }

    // A5
    @Test("adding a user to a group does not block its own changes")
    func openTransaction() async throws {
        let limits = StatementLimits(statement: .seconds(10), lock: .milliseconds(200))
        try await withNode(NodeSettings(limits: limits)) { node in
            let carol = try await node.signedIn(.carol)
            let program = try await node.database.connect()
            _ = try await program.execute(
                """
                begin;
                \(TestDatabase.rights(of: Person.alice.id))
                select api.create_group('Open', array['\(Person.carol.id)']::uuid[]);
                """)
            #expect(try await carol.call("me.update", ["bio": "changed"])["bio"] == "changed")
            // A deletion does wait: it must see the group, or the member must be refused.
            try await carol.refused(.timeout, "me.delete", ["password": .string(TestNode.password)])
            _ = try await program.execute("commit")
            await program.close()
            try await carol.call("me.delete", ["password": .string(TestNode.password)])
            #expect(
                try await node.database.value(
                    """
                    select count(*) from public.conversation_members m join public.conversations c
                        on c.id = m.conversation_id where m.user_id = '\(Person.carol.id)' and c.kind = 'group'
                    """) == "0")
        }
    }

    // A5
    @Test("changing a picture does not block others from adding the user")
    func openPicture() async throws {
        let limits = StatementLimits(statement: .seconds(10), lock: .milliseconds(200))
        try await withNode(NodeSettings(limits: limits)) { node in
            let alice = try await node.signedIn(.alice)
            let program = try await node.database.connect()
            _ = try await program.execute(
                """
                begin;
                \(TestDatabase.rights(of: Person.carol.id))
                select app.create_media('avatar', 'image/png', 10, null, null, null);
                """)
            let params: JSONObject = ["title": "Both", "member_ids": .array([.string(Person.carol.id)])]
            #expect(try await alice.call("conversations.create_group", params)["title"] == "Both")
            _ = try await program.execute("rollback")
            await program.close()
        }
    }
}
