import LineClient
import NIOCore
import PrivatePostgres
import WireProtocol

/// Reads per second of the 50 newest messages of a conversation, compared with the database alone.
struct ReadBench {
    let world: BenchWorld
    let connections: Int
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        let pairs = world.pairs.prefix(connections)
        for pair in pairs {
            let client = try await world.connect(pair.sender)
            for number in 1...60 {
                _ = try await client.call(
                    "messages.send",
                    [
                        "conversation_id": .string(pair.conversationID),
                        "content": .string("Message \(number): the tide is at half past six, so be there before."),
                    ])
            }
            await client.close()
        }
        let readers = try await RequestClients.connect(
            pairs.map { ($0.sender, $0.conversationID) }, port: world.port, group: world.threads)
        let pgbench = PgBench(
            installation: world.installation, url: await world.postgres.url(database: "postline"),
            directory: world.directory)
        let call = "select api.messages(:conversation::uuid, null::bigint, null::bigint, 50)"
        let count = readers.count
        var comparison = Comparison(
            "Reads of the 50 newest messages at \(count) connections, \(rounds) rounds of \(seconds) s each in turn")
        _ = try await Self.round(readers, for: .seconds(1))
        _ = try await pgbench.run(call, clients: min(16, count), seconds: 1)
        for number in 1...rounds {
            let ours = try await Self.round(readers, for: .seconds(seconds))
            let theirs = try await pgbench.run(call, clients: min(16, count), seconds: seconds)
            say("round \(number): postline \(Int(ours.perSecond))/s, pgbench \(Int(theirs.perSecond))/s")
            comparison.add(ours, theirs)
        }
        readers.end()
        return (
            comparison.table,
            [BenchResult(name: "list_ratio_\(count)", value: comparison.ratio, unit: "ratio", goal: .atLeast(0.8))]
        )
    }

    private static func round(_ readers: RequestClients, for time: Duration) async throws -> BenchRound {
        try await readers.ask("messages.list", for: time, write)
    }

    /// Writes the params of one read.
    static func write(conversationID: String, params: inout ByteBuffer) {
        params.writeStaticString(#"{"conversation_id":""#)
        params.writeString(conversationID)
        params.writeStaticString(#"","limit":50}"#)
    }
}
