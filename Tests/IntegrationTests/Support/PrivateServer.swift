import Foundation
import PrivatePostgres
import Schema
import Testing

/// Runs a PostgreSQL with the schema and the dev world, which a test can stop, crash and starve.
///
/// - Parameter place: An existing directory, or nil to create one.
func withPrivateServer<Value: Sendable>(
    settings: [String: String] = [:], in place: String? = nil,
    _ body: @Sendable (PrivatePostgres, TestDatabase) async throws -> Value
) async throws -> Value {
    try await privateServers.run(of: Test.currentSuite) {
        let made = FileManager.default.temporaryDirectory.appending(
            path: "postline-own-\(UUID().uuidString.prefix(8))"
        ).path
        defer { try? FileManager.default.removeItem(atPath: made) }
        let directory = place ?? made
        try await copyCluster(from: clusterTemplate.value, to: directory)
        let postgres = PrivatePostgres(
            installation: try await .ofTests(), directory: directory, settings: unsafeSettings.merging(settings) { $1 })
        try await postgres.start()
        let value: Value
        do {
            let url = await postgres.url(user: "USER", database: "DATABASE")
            let database = TestDatabase(name: "world") { user, database in
                url.replacing("USER", with: user ?? "postgres").replacing("DATABASE", with: database)
            }
            value = try await body(postgres, database)
        } catch {
            try? await postgres.stop(mode: .immediate)
            throw error
        }
        try await postgres.stop(mode: .immediate)
        return value
    }
}

/// The settings of servers whose data need not outlive a power cut.
private let unsafeSettings = ["fsync": "off", "full_page_writes": "off"]

/// The directory of a stopped cluster with the schema and the dev world, made once.
private let clusterTemplate = Task {
    let directory = FileManager.default.temporaryDirectory.appending(path: "postline-own-template").path
    let postgres = PrivatePostgres(
        installation: try await .ofTests(), directory: directory, settings: unsafeSettings)
    try await postgres.start()
    try await makeWorld(in: postgres)
    try await postgres.stop()
    return directory
}

private func makeWorld(in postgres: PrivatePostgres) async throws {
    try await postgres.psql("create database world")
    let migrator = Migrator(url: await postgres.url(user: "postgres", database: "world"), logger: .quiet)
    try await migrator.migrate(loginRole: .init(name: "postline", password: nil))
    try await migrator.seed()
}

/// Copies the data of a stopped cluster, with owners and modes.
private func copyCluster(from template: String, to directory: String) async throws {
    let script = #"mkdir -p "$1" && chmod 755 "$1" && cp -a "$0/data" "$1/data""#
    let copy = try Command(["-c", script, template, directory], of: "/bin/sh")
    guard try await copy.exit() == 0 else { throw CopyFailure(output: copy.errors) }
}

private struct CopyFailure: Error {
    let output: String
}

/// Runs a streaming standby of the server, with the same database.
func withStandby<Value: Sendable>(
    of postgres: PrivatePostgres, settings: [String: String] = [:],
    _ body: @Sendable (PrivatePostgres, TestDatabase) async throws -> Value
) async throws -> Value {
    let directory = FileManager.default.temporaryDirectory.appending(
        path: "postline-own-\(UUID().uuidString.prefix(8))"
    ).path
    let defaults = unsafeSettings.merging(
        ["hot_standby_feedback": "on", "wal_retrieve_retry_interval": "100ms"]) { $1 }
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
    /// Returns the installation that `make test` uses: the newest, or the requested version.
    static func ofTests() async throws -> PostgresInstallation {
        try await find(major: ProcessInfo.processInfo.environment["POSTLINE_TEST_POSTGRES"].flatMap { Int($0) })
    }
}

/// Creating a server takes seconds of processor time.
private let privateServers = AsyncSemaphore(2)
