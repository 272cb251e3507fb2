import Foundation
import LineClient
import Messaging
import Testing

@Suite("A listener that is frozen", .timeLimit(.minutes(60)))
struct FrozenListenerTests {
    @Test("row 19: with the listener's backend frozen, the sweep of each second finds what no bell announces")
    func frozen() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            let listening = try await node.database.value(
                "select pid from pg_stat_activity where datname = current_database() and query ilike 'listen %'")
            let backend = try #require(listening.flatMap { Int32($0) })
            kill(backend, SIGSTOP)
            defer { kill(backend, SIGCONT) }
            for number in 0..<5 {
                try await node.database.psql(
                    "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', 'unheard \(number)')"
                )
                try await alice.follow { $0.has("unheard \(number)", in: Room.aliceBob) }
            }
            #expect(await alice.replica.arrivals[Room.aliceBob]?.suffix(5) == ArraySlice(91...95))
        }
    }
}
