import BoundedWait
import LineClient
import Testing
import WireProtocol

/// E7: a database that is read-only for a time, as after a failover or with a full disk.
@Suite("Read-only database", .timeLimit(.minutes(20)))
struct ReadOnlyTests {
    @Test("writes are unavailable until the database is writable again")
    func stopped() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await eventually("the node to be ready") { await node.isReady }
            let name = node.database.name
            // Sessions reconnect, as after a failover, and keep the setting of their start.
            let restart = """
                select pg_terminate_backend(pid, 5000) from pg_stat_activity
                 where datname = '\(name)' and usename = 'postline'
                """
            // Committed first: an earlier session keeps the old setting.
            try await node.database.psql("alter database \(name) set default_transaction_read_only = on")
            try await node.database.psql(restart)
            try await eventually("the node to be not ready") { await !node.isReady }
            // The first attempts may use connections that are about to end.
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
            // Connections from before are replaced when a write fails on them, which the client repeats.
            try await eventually("a write to succeed") {
                (try? await alice.send("written again", to: Room.aliceBob)) != nil
            }
        }
    }
}
