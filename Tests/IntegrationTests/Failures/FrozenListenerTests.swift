import Foundation
import Testing

@Suite("Frozen notification listener", .timeLimit(.minutes(20)))
struct FrozenListenerTests {
    @Test("row 19: polling finds changes while the listener is frozen")
    func frozen() async throws {
        // Uses a separate server: while a backend is frozen, no database of its server can be dropped.
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
                #expect(await alice.state.arrivals[Room.aliceBob]?.suffix(5) == ArraySlice(91...95))
            }
        }
    }
}
