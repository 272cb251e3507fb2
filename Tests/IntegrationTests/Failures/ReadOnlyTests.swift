import BoundedWait
import LineClient
import Messaging
import Testing

/// E7: a database that takes no writes for a time, as after a failover or when its disk is full.
@Suite("Read-only database", .timeLimit(.minutes(60)))
struct ReadOnlyTests {
    @Test("answers writes with unavailable, is not ready, and is served again at once when it is writable")
    func stopped() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await eventually("the node to be ready") { await node.isReady }
            let name = node.database.name
            // Sessions begin anew, as they do after a failover, and keep what holds when they begin.
            let restart = """
                select pg_terminate_backend(pid, 5000) from pg_stat_activity
                 where datname = '\(name)' and usename = 'postline'
                """
            // Committed first: a session that begins before has the setting of before.
            try await node.database.psql("alter database \(name) set default_transaction_read_only = on")
            try await node.database.psql(restart)
            try await eventually("the node to be not ready") { await !node.isReady }
            // The first attempts may find connections that are just ending.
            var refusals: [String] = []
            while !refusals.contains(where: { $0.contains("no writes") }), refusals.count < 100 {
                let params: JSONObject = ["conversation_id": .string(Room.aliceBob), "content": "refused"]
                let refusal = try await alice.refused(.unavailable, "messages.send", params)
                refusals.append(refusal?.message ?? "")
            }
            #expect(refusals.last?.contains("no writes") == true, "\(refusals.suffix(3))")
            _ = try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob)])

            try await node.database.psql(
                "begin read write; alter database \(name) reset default_transaction_read_only; commit")
            try await eventually("the node to be ready again") { await node.isReady }
            try await alice.send("written again", to: Room.aliceBob)
        }
    }
}
