import BoundedWait
import Foundation
import Postgres
import PrivatePostgres
import Testing

/// A kind of fault.
enum Fault: String, CaseIterable, Sendable {
    case nodeKilled = "a node killed with -9"
    case serverRestarted = "PostgreSQL restarted"
    case serverCrashed = "PostgreSQL crashed"
    case backendKilled = "a backend killed with -9"
    case backendsTerminated = "all backends of the nodes terminated"
    case listenerTerminated = "a listener terminated"
    case listenerFrozen = "a listener frozen"
    case transactionHeld = "a transaction held open, with an xid"
    case deviceNotReading = "a device that stops reading"
    case linkCut = "a connection cut in the middle of a line"
    case standbyLost = "the standby stopped, and started again"
    case standbyStill = "the standby replaying nothing"
}

/// Injects faults one after another during the workload.
struct FaultInjector: Sendable {
    let postgres: PrivatePostgres
    let standby: PrivatePostgres
    let database: TestDatabase
    let nodes: [NodeProcess]
    let devices: [Device]

    /// A user that others know and nobody else changes.
    let bystander: String
    let writeLog: WriteLog

    /// The number of changes that a fault lasts.
    let span: Int

    private static let listeners = "select pid \(TestDatabase.listeners)"
    private static let backends =
        "select pid from pg_stat_activity where usename = 'postline' and datname = current_database()"

    /// Injects a fault, and returns when everything works again.
    func inject(_ fault: Fault, _ random: inout SeededRandom) async throws {
        let node = nodes.randomElement(using: &random)
        let device = devices.randomElement(using: &random)
        switch fault {
        case .nodeKilled:
            try await node?.kill()
            await pass()
            try await node?.start()
        case .serverRestarted:
            try await postgres.stop(mode: .fast)
            try await postgres.start()
        case .serverCrashed:
            try await postgres.stop(mode: .immediate)
            try await postgres.start()
        case .backendKilled:
            if let backend = try await pids(Self.backends).randomElement(using: &random) { kill(backend, SIGKILL) }
            await pass()
        case .backendsTerminated:
            for backend in try await pids(Self.backends) { try await terminate(backend) }
            await pass()
        case .listenerTerminated:
            if let listener = try await pids(Self.listeners).randomElement(using: &random) {
                try await terminate(listener)
            }
            await pass()
        case .listenerFrozen:
            guard let listener = try await pids(Self.listeners).randomElement(using: &random) else { return }
            kill(listener, SIGSTOP)
            await pass()
            kill(listener, SIGCONT)
        case .transactionHeld:
            try await holdTransaction(commits: random.chance(70))
        case .deviceNotReading:
            await device?.notReading { await pass(8) }
        case .linkCut:
            let bytes = Int.random(in: 1...2_000, using: &random)
            let direction = TCPProxy.Direction.allCases.randomElement(using: &random) ?? .toClient
            await device?.cut(after: bytes, direction)
            await pass()
        case .standbyLost:
            try await standby.stop(mode: .immediate)
            await pass()
            try await standby.start()
        case .standbyStill:
            try await standby.psql("select pg_wal_replay_pause()")
            await pass()
            try await standby.psql("select pg_wal_replay_resume()")
        }
    }

    /// Waits for further changes.
    private func pass(_ times: Int = 1) async { await writeLog.waitForChanges(await writeLog.changes + span * times) }

    private func holdTransaction(commits: Bool) async throws {
        let connection = try await withRetry { try await database.connect() }
        let goal = await writeLog.changes
        _ = try await connection.execute(
            "begin; update public.user_profiles set bio = 'held at \(goal)' where id = '\(bystander)'")
        await pass(3)
        _ = try await connection.execute(commits ? "commit" : "rollback")
        if commits { await writeLog.record("names changed") }
        await connection.close()
    }

    private func terminate(_ backend: Int32) async throws {
        _ = try await withRetry { try await database.column("select pg_terminate_backend(\(backend))") }
    }

    private func pids(_ query: String) async throws -> [Int32] {
        try await withRetry { try await database.column(query) }.compactMap { $0.flatMap { Int32($0) } }.sorted()
    }

    /// Retries while the database starts.
    private func withRetry<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value
    {
        try await eventually("the database") {
            do { return try await body() } catch is PostgresError { return nil }
        }
    }
}
