import BoundedWait
import Foundation
import GRDB
import TestSupport
import Testing

@testable import Postline

@Suite("Blocks, by the client")
@MainActor
struct ClientBlockTests {
    @Test("blocks and unblocks a user on all devices, whose messages are refused meanwhile")
    func blocks() async throws {
        try await withAliceAndBob { _, alice, bob in
            try await AppDevice.with(alice.server) { other in
                try await other.signIn(.alice)
                @MainActor func isBlocked(_ client: PostlineClient) -> Bool? {
                    client.conversations.first { $0.id == .aliceBob }?.isBlocked
                }
                #expect(alice.client.blockedUserIDs.isEmpty && isBlocked(alice.client) == false)
                try await alice.client.block(.bob)
                #expect(alice.client.blockedUserIDs == [.bob] && isBlocked(alice.client) == true)
                try await alice.client.block(.carol)
                try await alice.client.block(.bob)
                #expect(alice.client.blockedUserIDs == [.bob, .carol])
                try await other.waitUntil("the blocks") { $0.blockedUserIDs == [.bob, .carol] }
                #expect(bob.client.blockedUserIDs.isEmpty && isBlocked(bob.client) == false)
                try await bob.client.send("are you there?", in: .aliceBob)
                try await bob.waitUntil("the refusal") { $0.refusedChanges.first?.error.code == .forbidden }
                // Without a connection it is the same, also after a new start.
                await other.client.disconnect()
                await #expect { try await other.client.unblock(.bob) } throws: {
                    ($0 as? PostlineError)?.code == .offline
                }
                try await other.relaunch()
                await other.client.disconnect()
                #expect(other.client.blockedUserIDs == [.bob, .carol] && isBlocked(other.client) == true)
                try await alice.client.unblock(.bob)
                #expect(alice.client.blockedUserIDs == [.carol] && isBlocked(alice.client) == false)
                try await alice.client.unblock(.carol)
                try other.client.connect()
                try await other.waitUntil("the end of the blocks") { $0.blockedUserIDs.isEmpty }
                let refused = try #require(bob.client.refusedChanges.first)
                try await bob.client.retryChange(refused.id)
                let chat = try await alice.client.loadedChat(with: .aliceBob)
                try await alice.waitUntil("the message") { _ in chat.messages.last?.content == "are you there?" }
                #expect(chat.messages.allSatisfy { !$0.isBlocked })
                await #expect { try await alice.client.block(.alice) } throws: {
                    ($0 as? PostlineError)?.field == "user_id"
                }
            }
        }
    }

    @Test("marks a blocked user's messages, quotes and previews in groups, and leaves them out of searches and events")
    func groups() async throws {
        try await withAliceAndBob { database, alice, bob in
            let (group, direct) = (
                try await alice.client.loadedChat(with: .alps), try await alice.client.loadedChat(with: .aliceBob)
            )
            let events = group.events
            @MainActor func row() -> Conversation? { alice.client.conversations.first { $0.id == .alps } }
            @MainActor func found(_ query: String) async throws -> [String?] {
                try await alice.client.searchMessages(query).messages.map(\.content)
            }
            for room in [Conversation.ID.aliceBob, .alps] { try await bob.client.send("A walrus", in: room) }
            try await alice.waitUntil("the messages") { _ in
                group.messages.last?.content == "A walrus" && direct.messages.last?.content == "A walrus"
            }
            let walrus = try #require(group.messages.last)
            try await group.send("Where?", details: MessageDetails(replyTo: walrus))
            try await alice.waitUntil("an empty outbox") { $0.pendingChangeCount == 0 }
            #expect(try await found("walrus") == ["A walrus", "A walrus"])
            #expect(group.messages.allSatisfy { !$0.isBlocked && $0.replyTo?.isBlocked != true })

            try await alice.client.block(.bob)
            // His messages are marked, and no others.
            @MainActor func showsMarks() -> Bool {
                group.messages.allSatisfy { $0.isBlocked == ($0.senderID == .bob && $0.kind != .system) }
                    && group.messages.contains(where: \.isBlocked)
                    && group.messages.last { $0.content == "Where?" }?.replyTo?.isBlocked == true
                    && direct.messages.allSatisfy { !$0.isBlocked }
            }
            #expect(showsMarks() && row()?.isLastMessageBlocked == false)
            try await bob.client.send("At the walrus's place", in: .alps)
            try await alice.waitUntil("his message") { _ in group.messages.last?.content == "At the walrus's place" }
            #expect(group.messages.last?.isBlocked == true && row()?.isLastMessageBlocked == true)
            #expect(try await found("walrus") == ["A walrus"])
            // An unsent message is the newest.
            await alice.client.disconnect()
            #expect(try await found("walrus") == ["A walrus"])
            try await group.send("Hm")
            #expect(row()?.isLastMessageBlocked == false && showsMarks())
            try alice.client.connect()
            try await alice.waitUntil("an empty outbox") { $0.state == .live && $0.pendingChangeCount == 0 }
            // What happens to the group is shown.
            try await bob.client.renameGroup(.alps, to: "Walruses")
            try await alice.waitUntil("the event") { _ in group.messages.last?.kind == .system }
            #expect(group.messages.last?.isBlocked == false && row()?.isLastMessageBlocked == false)
            try await database.psql(
                """
                insert into public.messages (conversation_id, sender_id, content)
                values ('\(Room.alps)', '\(Person.carol.id)', 'The last')
                """)
            let received = try await within("Carol's message") {
                var contents: [String?] = []
                for await event in events {
                    guard case .messageReceived(let message) = event, message.kind != .system else { continue }
                    contents.append(message.content)
                    if message.senderID == .carol { break }
                }
                return contents
            }
            #expect(received == ["A walrus", "The last"])

            try await alice.client.unblock(.bob)
            #expect(group.messages.allSatisfy { !$0.isBlocked && $0.replyTo?.isBlocked != true })
            let contents = ["At the walrus's place", "A walrus", "A walrus"]
            #expect(try await found("walrus") == contents)
            await alice.client.disconnect()
            #expect(try await found("walrus") == contents)
        }
    }

    @Test("replaces the list by that of a delta, and ends it by a reset without one")
    func lists() throws {
        let client = PostlineClient.preview(me: User(id: .alice, fullName: "Alice"), blockedUserIDs: [.bob, .carol])
        #expect(client.blockedUserIDs == [.bob, .carol])
        let store = try #require(client.store)
        defer { withExtendedLifetime(client) {} }
        func blocked(after line: String) throws -> [User.ID] {
            let changes = try JSONDecoder().decode(Changes.self, from: Data(line.utf8))
            try store.writeNow { try $0.apply(changes) }
            return try store.readNow { try $0.blockedUserIDs() }
        }
        #expect(try blocked(after: #"{"cursor":"1"}"#) == [.bob, .carol])
        #expect(try blocked(after: #"{"cursor":"2","blocked":["\#(Person.dave.id)","\#(Person.bob.id)"]}"#).count == 2)
        #expect(try store.readNow { try $0.blockedUserIDs() }.last == .bob)
        #expect(try blocked(after: #"{"cursor":"3","blocked":[]}"#) == [])
        #expect(try blocked(after: #"{"reset":true,"more":true,"blocked":["\#(Person.bob.id)"]}"#) == [.bob])
        #expect(try blocked(after: #"{"cursor":"4"}"#) == [.bob])
        #expect(try blocked(after: #"{"cursor":"5","reset":true}"#) == [])
    }

    @Test("a store of the version before gets the blocks by a reset")
    func migration() throws {
        let database = try DatabaseQueue()
        try StoreSchema.migrator.migrate(database, upTo: "11")
        try database.write {
            try $0.execute(sql: "insert into setting values ('cursor', 'x'), ('me', '{}'), ('generation', '1')")
        }
        try StoreSchema.migrator.migrate(database)
        let names = try database.read { try String.fetchAll($0, sql: "select name from setting order by name") }
        #expect(names == ["generation", "me"])
        #expect(try database.read { try Int.fetchOne($0, sql: "select count(*) from blocked") } == 0)
    }
}
