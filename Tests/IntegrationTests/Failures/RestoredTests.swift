import Foundation
import LineClient
import Messaging
import PrivatePostgres
import Testing

@Suite("Database restored from a dump", .timeLimit(.minutes(60)))
struct RestoredTests {
    @Test("row 31: restored into another database, old cursors get a reset, and clients equal what was restored")
    func elsewhere() async throws {
        try await withNode { node in
            let before = try await Before(node)
            try await TestDatabase.with(migrated: false) { restored in
                try await before.restore(into: restored)
                try await before.expectReset(on: restored)
            }
        }
    }

    @Test("row 31: restored on another server, whose transactions are numbered anew, old cursors get a reset")
    func onAnotherServer() async throws {
        try await withNode { node in
            let before = try await Before(node)
            try await withPrivateServer { postgres, database in
                // The name of a database says nothing of where it is.
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

    @Test("row 31: restored in place, over what was there, old cursors get a reset, and what the dump lacks is gone")
    func inPlace() async throws {
        try await TestDatabase.with { database in
            let before = try await withNode(database) { node in try await Before(node, ["--clean", "--if-exists"]) }
            try await before.restore(into: database)
            try await before.expectReset(on: database)
        }
    }
}

/// Everybody's clients as they were when a dump was made, and wrote on after it.
private struct Before: Sendable {
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
        // What the dump does not have, and a cursor that has seen it.
        try await clients[0].client.send("after the dump", to: Room.aliceBob)
        for (client, _) in clients { _ = try await client.pushesUpTo("after the dump", on: node.database) }
        #expect(await clients[1].client.replica.has("after the dump", in: Room.aliceBob))
    }

    func restore(into database: TestDatabase) async throws {
        try await Self.run(
            "psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.adminURL, "-f", dump.path])
        try FileManager.default.removeItem(at: dump)
    }

    /// Each goes on with its cursor, is told to begin anew, and then has what the database has, also of what follows.
    func expectReset(on database: TestDatabase) async throws {
        try await withNode(database) { node in
            for (old, tokens) in clients {
                let client = try await node.connect()
                try await client.authenticate(tokens)
                let pages = try await client.sync(from: old.cursor)
                #expect(pages.first?["reset"] == true)
                #expect(await !client.replica.has("after the dump", in: Room.aliceBob))
                try await SyncOpenTests.expectEqual(client, database, newest: 20)
                // The new cursor is good.
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
