import Foundation
import Messaging
import PrivatePostgres

/// A PostgreSQL of a test's own, to be stopped, crashed and starved, with the schema and the dev world in it.
///
/// - Parameter place: a directory that is there; else one is made.
func withPrivateServer<Value: Sendable>(
    settings: [String: String] = [:], in place: String? = nil,
    _ body: @Sendable (PrivatePostgres, TestDatabase) async throws -> Value
) async throws -> Value {
    await privateServers.enter()
    let made = FileManager.default.temporaryDirectory.appending(
        path: "postline-own-\(UUID().uuidString.prefix(8))"
    ).path
    let directory = place ?? made
    do {
        let defaults = ["fsync": "off", "full_page_writes": "off"]
        let postgres = PrivatePostgres(
            installation: try await .ofTests(), directory: directory, settings: defaults.merging(settings) { $1 })
        try await postgres.start()
        let value: Value
        do {
            let url = await postgres.url(user: "USER", database: "DATABASE")
            let database = TestDatabase(name: "world") { user, database in
                url.replacing("USER", with: user ?? "postgres").replacing("DATABASE", with: database)
            }
            try await postgres.psql("create database world")
            let migrator = Migrator(url: database.adminURL, logger: .quiet)
            try await migrator.migrate(loginRole: .init(name: "postline", password: nil))
            try await migrator.seed()
            value = try await body(postgres, database)
        } catch {
            try? await postgres.stop(mode: .immediate)
            throw error
        }
        try await postgres.stop(mode: .immediate)
        try? FileManager.default.removeItem(atPath: made)
        await privateServers.leave()
        return value
    } catch {
        try? FileManager.default.removeItem(atPath: made)
        await privateServers.leave()
        throw error
    }
}

/// Runs a streaming replica of that server, with the same database.
func withStandby<Value: Sendable>(
    of postgres: PrivatePostgres, settings: [String: String] = [:],
    _ body: @Sendable (PrivatePostgres, TestDatabase) async throws -> Value
) async throws -> Value {
    let directory = FileManager.default.temporaryDirectory.appending(
        path: "postline-own-\(UUID().uuidString.prefix(8))"
    ).path
    let defaults = [
        "fsync": "off", "full_page_writes": "off", "hot_standby_feedback": "on", "wal_retrieve_retry_interval": "100ms",
    ]
    let standby = PrivatePostgres(
        installation: try await .ofTests(), directory: directory, settings: defaults.merging(settings) { $1 },
        standbyOf: await postgres.url())
    do {
        try await standby.start()
        let url = await standby.url(user: "USER", database: "DATABASE")
        let database = TestDatabase(name: "world") { user, database in
            url.replacing("USER", with: user ?? "postgres").replacing("DATABASE", with: database)
        }
        let value = try await body(standby, database)
        try await standby.stop(mode: .immediate)
        try? FileManager.default.removeItem(atPath: directory)
        return value
    } catch {
        try? await standby.stop(mode: .immediate)
        try? FileManager.default.removeItem(atPath: directory)
        throw error
    }
}

extension PostgresInstallation {
    /// Returns the installation of `make test`: the newest, or the requested version.
    static func ofTests() async throws -> PostgresInstallation {
        try await find(major: ProcessInfo.processInfo.environment["POSTLINE_TEST_POSTGRES"].flatMap { Int($0) })
    }
}

/// A server takes seconds of a processor to make.
private let privateServers = AsyncSemaphore(2)
