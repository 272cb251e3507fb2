import Foundation
import PrivatePostgres
import Testing

@Suite("Private PostgreSQL")
struct PrivatePostgresTests {
    /// Runs `body` with a directory below /tmp, which is removed afterwards.
    private func withDirectory(
        _ name: String = "", _ body: (String) async throws -> Void
    ) async throws {
        let parent = "/tmp/postline-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: parent) }
        try await body(parent + name)
    }

    private func server(in directory: String) async throws -> PrivatePostgres {
        PrivatePostgres(installation: try await .find(), directory: directory, settings: ["fsync": "off"])
    }

    @Test("starts from nothing, and keeps its data over a stop and a kill")
    func keepsData() async throws {
        try await withDirectory { directory in
            let server = try await server(in: directory)
            try await server.start()
            try await server.psql("create table t (n int); insert into t values (1)")
            try await server.stop()
            #expect(await server.serverProcessID == nil)
            try await server.start()
            try await server.psql("insert into t values (2)")
            try await server.kill()
            #expect(await server.serverProcessID == nil)
            try await server.start()
            #expect(try await server.psql("select n from t order by n") == "1\n2\n")
            try await server.stop(mode: .immediate)
        }
    }

    // E19
    @Test("accepts paths with shell characters, and refuses line breaks")
    func shellCharacters() async throws {
        // A shell would create it in its working directory.
        let trace = "postline-trace-\(UUID().uuidString)"
        let folders = ["/", FileManager.default.currentDirectoryPath, FileManager.default.temporaryDirectory.path]
        for name in ["/$(touch \(trace))", "/`touch \(trace)`", "/a \"b\" 'c'", "/$HOME;x&y|z", "/a,b\\c"] {
            try await withDirectory(name) { directory in
                let server = try await server(in: directory)
                try await server.start()
                #expect(try await server.psql("select 1") == "1\n", "\(name)")
                try await server.stop()
                #expect(FileManager.default.fileExists(atPath: "\(directory)/data/PG_VERSION"), "\(name)")
            }
        }
        for folder in folders { #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(trace)")) }
        try await withDirectory("/a\nb") { directory in
            let error = await #expect(throws: PrivatePostgresError.self) {
                try await self.server(in: directory).start()
            }
            #expect("\(error, default: "")".contains("line break"))
        }
    }

    @Test("an interrupted start leaves nothing and blocks no other")
    func cutShort() async throws {
        try await withDirectory { directory in
            let draft = "\(directory)/data.new.1/pg_xact"
            try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: true)
            let server = try await server(in: directory)
            try await server.start()
            #expect(try await server.psql("select 1") == "1\n")
            try await server.stop()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory).sorted() == ["data", "lock", "run"])
        }
    }

    @Test("listens on its private socket only, in UTF-8")
    func isPrivate() async throws {
        try await withDirectory { directory in
            let server = try await server(in: directory)
            try await server.start()
            #expect(try await server.psql("show listen_addresses") == "\n")
            #expect(try await server.psql("show server_encoding") == "UTF8\n")
            let sockets = await server.socketDirectory
            let mode = try FileManager.default.attributesOfItem(atPath: sockets)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o700)
            try await server.stop()
        }
    }

    @Test("refuses a second one on the same directory")
    func lock() async throws {
        try await withDirectory { directory in
            let first = try await server(in: directory)
            try await first.start()
            let second = try await server(in: directory)
            await #expect {
                try await second.start()
            } throws: { error in
                guard case PrivatePostgresError.inUse? = error as? PrivatePostgresError else { return false }
                return "\(error)".contains(directory)
            }
            #expect(try await first.psql("select 1") == "1\n")
            try await first.stop()
            try await second.start()
            try await second.stop()
        }
    }

    @Test("refuses data of another major version by name")
    func otherVersion() async throws {
        try await withDirectory { directory in
            let server = try await server(in: directory)
            try await server.start()
            try await server.stop()
            let file = "\(await server.dataDirectory)/PG_VERSION"
            try "9.6\n".write(toFile: file, atomically: false, encoding: .utf8)
            let major = server.installation.majorVersion
            await #expect(
                throws: PrivatePostgresError.otherMajorVersion(directory: directory, data: "9.6", installed: major)
            ) {
                try await server.start()
            }
        }
    }

    @Test("puts the socket elsewhere if the path is too long")
    func longPath() async throws {
        try await withDirectory(String(repeating: "/long", count: 25)) { directory in
            let server = try await server(in: directory)
            try await server.start()
            #expect(await server.socketDirectory.utf8.count < 80)
            #expect(try await server.psql("select 1") == "1\n")
            try await server.stop()
            try? FileManager.default.removeItem(atPath: await server.socketDirectory)
        }
    }

    @Test("throws a failed statement with the server's message")
    func failure() async throws {
        try await withDirectory { directory in
            let server = try await server(in: directory)
            try await server.start()
            await #expect {
                try await server.psql("select nothing_like_it")
            } throws: {
                "\($0)".contains("nothing_like_it")
            }
            try await server.stop()
        }
    }
}
