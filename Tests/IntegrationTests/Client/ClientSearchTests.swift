import BoundedWait
import Foundation
import GRDB
import TestSupport
import Testing

@testable import Postline

@Suite("Client search of messages")
@MainActor
struct ClientSearchTests {
    /// Runs a body with devices of Alice and Bob, and a node that does not count searches.
    private func withoutRateLimits(
        _ body: @MainActor (TestDatabase, _ alice: AppDevice, _ bob: AppDevice) async throws -> Void
    ) async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database, environment: ["POSTLINE_RATE_LIMITS": "off"])
            defer { node.command.signal(SIGKILL) }
            try await AppDevice.with(.node(node.port)) { alice in
                try await AppDevice.with(alice.server) { bob in
                    try await alice.signIn(.alice)
                    try await bob.signIn(.bob)
                    try await body(database, alice, bob)
                }
            }
        }
    }

    @Test("finds what the server has, and without a connection what the device has")
    func search() async throws {
        try await withoutRateLimits { database, alice, bob in
            let chat = try await bob.client.loadedChat(with: .aliceBob)
            let his = try await alice.client.loadedChat(with: .aliceBob)
            for text in ["A walrus, at last", "Zwei Wälder", "明日の会議", "Not this one"] { try await chat.send(text) }
            try await alice.waitUntil("the messages") { _ in his.messages.last?.content == "Not this one" }
            // An older message that the device has not.
            try await database.psql(
                """
                insert into public.messages (conversation_id, sender_id, content)
                select '\(Room.alps)', '\(Person.bob.id)', 'filler ' || n from generate_series(1, 60) n
                """)
            try await bob.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            func contents(_ query: String, by client: PostlineClient, from sender: User.ID? = nil) async throws
                -> [String?]
            {
                try await client.searchMessages(query, in: .aliceBob, from: sender).messages.map(\.content)
            }
            for isOnline in [true, false] {
                if !isOnline { await alice.client.disconnect() }
                for (query, content) in [
                    ("walrus", "A walrus, at last"), ("last WAL", "A walrus, at last"), ("walder", "Zwei Wälder"),
                    ("会議", "明日の会議"), ("日の会", "明日の会議"),
                ] {
                    #expect(try await contents(query, by: alice.client) == [content], "\(query) \(isOnline)")
                }
                for query in ["wa", "日会", "walrusses", "?!"] {
                    #expect(try await contents(query, by: alice.client).isEmpty, "\(query) \(isOnline)")
                }
                #expect(try await contents("walrus", by: alice.client, from: .alice).isEmpty)
                let page = try await alice.client.searchMessages("walrus")
                #expect(page.isStoredOnly == !isOnline && page.next == nil && page.messages.count == 1)
                #expect(page.messages.first?.sender?.id == .bob)
            }
            await #expect { try await alice.client.searchMessages("walrus", before: "1.x") } throws: {
                ($0 as? PostlineError)?.code == .offline
            }
            for query in ["x", String(repeating: "x", count: 101)] {
                await #expect { try await alice.client.searchMessages(query) } throws: {
                    ($0 as? PostlineError)?.field == "query"
                }
            }
            // What changes meanwhile changes in the index.
            let walrus = try #require(chat.messages.first { $0.content == "A walrus, at last" })
            try await bob.client.edit(walrus, to: "A pelican, at last")
            try await bob.client.delete(try #require(chat.messages.first { $0.content == "Zwei Wälder" }))
            try await bob.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            try alice.client.connect()
            try await alice.waitUntil("the changes") { _ in
                his.messages.contains { $0.content == "A pelican, at last" }
                    && his.messages.contains { $0.deletedAt != nil }
            }
            for isOnline in [true, false] {
                if !isOnline { await alice.client.disconnect() }
                #expect(try await contents("walrus", by: alice.client).isEmpty)
                #expect(try await contents("walder", by: alice.client).isEmpty)
                #expect(try await contents("pelican", by: alice.client) == ["A pelican, at last"])
            }
        }
    }

    @Test("pages continue, stored results are not repeated, and what was found is stored")
    func pages() async throws {
        try await withoutRateLimits { database, alice, _ in
            try await database.psql(
                """
                insert into public.messages (conversation_id, sender_id, content)
                select '\(Room.aliceBob)', '\(Person.bob.id)', 'giraffe ' || n from generate_series(1, 45) n
                """)
            try await alice.client.refresh()
            var found: [String?] = []
            var next: String?
            repeat {
                let page = try await alice.client.searchMessages("giraffe", limit: 10, before: next)
                found += page.messages.map(\.content)
                next = page.next
            } while next != nil
            #expect(found == (1...45).reversed().map { "giraffe \($0)" })
            await alice.client.disconnect()
            let stored = try await alice.client.searchMessages("giraffe", limit: 50)
            #expect(stored.messages.map(\.content) == found)
        }
    }

    @Test("a store of the version before finds its messages")
    func migration() throws {
        let database = try DatabaseQueue()
        try StoreSchema.migrator.migrate(database, upTo: "10")
        try database.write {
            try $0.execute(
                sql: """
                    insert into message values ('c', 1, 'm', 'u', null, 'text', 'Grüße aus 東京都', null, 1, 0, null, null,
                        null, null, '[]', 0, null, null, null)
                    """)
        }
        try StoreSchema.migrator.migrate(database)
        func count(_ text: String) throws -> Int? {
            let query = try #require(SearchWords.query(for: text))
            return try database.read {
                try Int.fetchOne(
                    $0, sql: "select count(*) from message_search where message_search match ?", arguments: [query])
            }
        }
        for text in ["grusse", "東京", "京都 GRÜSSE", "gru"] { #expect(try count(text) == 1, "\(text)") }
        for text in ["gr", "京東", "東都"] { #expect(try count(text) == 0, "\(text)") }
        try database.write { try $0.execute(sql: "delete from message") }
        #expect(try count("東京") == 0)
    }
}
