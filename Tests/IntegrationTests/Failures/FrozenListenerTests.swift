import Foundation
import LineClient
import Messaging
import Testing

@Suite("Frozen notification listener", .timeLimit(.minutes(60)))
struct FrozenListenerTests {
    @Test("row 19: with the listener's backend frozen, the sweep of each second finds what no bell announces")
    func frozen() async throws {
        // On a server of its own: until the last of its backends goes on, no database of a server can be dropped.
        try await withPrivateServer { _, database in
            try await withNode(database) { node in
                let alice = try await node.signedIn(.alice)
                try await alice.sync()
                let listening = try await database.value("select pid \(TestDatabase.listeners)")
                let backend = try #require(listening.flatMap { Int32($0) })
                kill(backend, SIGSTOP)
                defer { kill(backend, SIGCONT) }
                for number in 0..<5 {
                    try await database.psql(
                        "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', 'unheard \(number)')"
                    )
                    try await alice.follow { $0.has("unheard \(number)", in: Room.aliceBob) }
                }
                #expect(await alice.replica.arrivals[Room.aliceBob]?.suffix(5) == ArraySlice(91...95))
            }
        }
    }
}
