import DatabaseAccess
import LineClient
import NIOCore
import Postgres
import PrivatePostgres
import WireProtocol

/// The cost of a call for PostgreSQL: the mean of many.
struct DatabaseCost: Sendable {
    /// The processor time of the backend.
    let microseconds: Double
    /// The bytes of write-ahead log, without images of whole pages: their number depends on the last checkpoint.
    let logBytes: Double

    /// Returns the median ratio of the processor times.
    static func ratio(_ ours: [DatabaseCost], _ theirs: [DatabaseCost]) -> Double {
        median(zip(ours, theirs).map { $0.microseconds / $1.microseconds }) ?? 0
    }

    /// Returns the medians as a line.
    static func text(_ name: String, _ costs: [DatabaseCost]) -> String {
        "\(name): \(BenchResult.text(median(costs.map(\.microseconds)) ?? 0, 0)) µs of a core, "
            + "\(BenchResult.text(median(costs.map(\.logBytes)) ?? 0, 0)) bytes of log"
    }
}

/// A session of a user at PostgreSQL, whose backend is measured. Each call is a transaction with a node's preamble.
/// Linux only.
struct MeasuredSession: Sendable {
    /// The calls of one measurement.
    static let calls = 200

    private let connection: Connection
    private let preamble: Call

    /// Connects as the superuser, who takes the user's role for each call.
    static func open(
        _ world: BenchWorld, database: String = "postline", as user: BenchWorld.User
    ) async throws -> MeasuredSession {
        try await world.postgres.psql("create extension if not exists pg_walinspect", database: database)
        let connection = try await Connection.open(
            await world.postgres.url(database: database), on: Reactor(name: "bench"))
        let limits = StatementLimits(statement: .seconds(10), lock: .seconds(5))
        return MeasuredSession(
            connection: connection,
            preamble: Preamble(limits: limits).call(for: .user(id: user.id, claims: user.claims)))
    }

    func close() async { await connection.close() }

    /// Runs calls one after another, and returns the cost of each, and the results as text.
    func measure(_ calls: [Call]) async throws -> (cost: DatabaseCost, results: [String]) {
        let begin = try await logEnd()
        let before = try processorTime()
        var results: [String] = []
        for call in calls {
            let rows = try await connection.run([preamble, call], deadline: .seconds(10))
            results.append(rows.last?.text(0, 0) ?? "")
        }
        let time = try processorTime() - before
        let log = Statement("log", "select sum(record_size)::text from pg_get_wal_stats($1::pg_lsn, $2::pg_lsn)")
        let rows = try await connection.run([Call(log, [begin, try await logEnd()])])
        let bytes = rows[0].text(0, 0).flatMap { Double($0) } ?? 0
        return (
            DatabaseCost(
                microseconds: Double(time) / 1_000 / Double(calls.count), logBytes: bytes / Double(calls.count)),
            results
        )
    }

    /// Sends messages, and returns their cost and numbers.
    func send(to conversationID: String) async throws -> (cost: DatabaseCost, seqs: [String]) {
        let send = Statement("send", "select api.send_message($1::uuid, $2, gen_random_uuid(), null, null::jsonb)")
        let (cost, results) = try await measure(
            (0..<Self.calls).map { Call(send, [conversationID, "Message \($0): shall we meet at the harbour?"]) })
        return (cost, try results.map { try Self.seq(of: $0) })
    }

    /// Returns the number of a message that a call has answered.
    static func seq(of message: String) throws -> String {
        guard let seq = try JSON(parsing: ByteBuffer(string: message))["seq"]?.integerValue else {
            throw BenchError("A message has no number.")
        }
        return "\(seq)"
    }

    private func logEnd() async throws -> String {
        let statement = Statement("log end", "select pg_current_wal_flush_lsn()::text")
        return try await connection.run([Call(statement)])[0].text(0, 0) ?? ""
    }

    /// Returns the nanoseconds of processor time that the backend has had. Source: the kernel's sched-stats.rst.
    private func processorTime() throws -> Int {
        let file = "/proc/\(connection.backendProcessID)/schedstat"
        guard let time = try BenchFiles.read(file).split(separator: " ").first.flatMap({ Int($0) }) else {
            throw BenchError("\(file) has no processor time.")
        }
        return time
    }
}
