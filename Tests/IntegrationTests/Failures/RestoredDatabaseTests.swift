import Foundation
import LineClient
import PrivatePostgres
import Testing
import WireProtocol

@Suite("Database restored from a dump", .timeLimit(.minutes(20)))
struct RestoredDatabaseTests {
    @Test("row 31: a restore into another database resets old cursors")
    func elsewhere() async throws {
        try await withNode { node in
            let before = try await DumpedClients(node)
            try await TestDatabase.with(migrated: false) { restored in
                try await before.restore(into: restored)
                try await before.expectReset(on: restored)
            }
        }
    }

    @Test("row 31: a restore on another server resets old cursors")
    func onAnotherServer() async throws {
        try await withNode { node in
            let before = try await DumpedClients(node)
            try await withPrivateServer { postgres, database in
                // The database's name does not identify it.
                try await postgres.psql("drop database world with (force); create database world")
                try await before.restore(into: database)
                let server = try await Command.run(
                    ["migrate"],
                    environment: [
                        "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
                    ])
                #expect(server.status == 0, "\(server.errors)")
                try await before.expectReset(on: database)
            }
        }
    }

    @Test("row 31: a restore in place resets old cursors")
    func inPlace() async throws {
        try await TestDatabase.with { database in
            let before = try await withNode(database) { node in
                try await DumpedClients(node, ["--clean", "--if-exists"])
            }
            try await before.restore(into: database)
            try await before.expectReset(on: database)
        }
    }
}

/// The clients at the time of a dump, and writes after it.
private struct DumpedClients: Sendable {
    private let clients: [(client: TestClient, tokens: JSON)]
    private let dump: URL

    init(_ node: TestNode, _ options: [String] = []) async throws {
        clients = try await Person.allCases.asyncMap { person in
            let client = try await node.connect()
            let tokens = try await client.logIn(person.email)
            try await client.sync()
            return (client, tokens)
        }
        dump = FileManager.default.temporaryDirectory.appending(path: "postline-\(UUID().uuidString).sql")
        try await Self.run("pg_dump", options + ["--file", dump.path, node.database.adminURL])
        // A write that the dump lacks, and a cursor that has seen it.
        try await clients[0].client.send("after the dump", to: Room.aliceBob)
        for (client, _) in clients { _ = try await client.pushesUpTo("after the dump", on: node.database) }
        #expect(await clients[1].client.state.has("after the dump", in: Room.aliceBob))
    }

    func restore(into database: TestDatabase) async throws {
        try await Self.run(
            "psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.adminURL, "-f", dump.path])
        try FileManager.default.removeItem(at: dump)
    }

    /// Expects that each client's cursor is reset, and that its state then equals the database, including later
    /// changes.
    func expectReset(on database: TestDatabase) async throws {
        try await withNode(database) { node in
            for (old, tokens) in clients {
                let client = try await node.connect()
                try await client.authenticate(tokens)
                let pages = try await client.sync(from: old.cursor)
                #expect(pages.first?["reset"] == true)
                #expect(await !client.state.has("after the dump", in: Room.aliceBob))
                try await SyncOpenTests.expectEqual(client, database, newest: 20)
                // The new cursor is valid.
                #expect(try await client.sync(from: client.cursor).first?["reset"] == false)
                _ = try await client.pushesUpTo("restored", on: database)
                try await SyncOpenTests.expectEqual(client, database, newest: 20)
            }
        }
    }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let installation = try await PostgresInstallation.ofTests()
        let result = try await Command.run(arguments, of: installation.program(program))
        #expect(result.status == 0, "\(program): \(result.errors)")
    }
}
