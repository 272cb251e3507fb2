import BoundedWait
import Foundation
import PrivatePostgres
import Testing

@Suite("TLS to the database", .timeLimit(.minutes(20)))
struct DatabaseTLSTests {
    /// A PostgreSQL that accepts TCP only with TLS, with a test certificate.
    private struct EncryptedServer: Sendable {
        static let host = "db.example"

        let postgres: PrivatePostgres
        let database: TestDatabase
        let certificates: TestCertificates
        let address: String

        /// Returns a URL with the service's login role. The host name is not resolved.
        func url(host: String = host, authorities: String? = nil, sslmode: String = "verify-full") -> String {
            "postgresql://postline@\(host):5432/\(database.name)?hostaddr=\(address)&sslmode=\(sslmode)"
                + "&sslrootcert=\(authorities ?? certificates.authorities)"
        }

        static func with(_ body: @Sendable (EncryptedServer) async throws -> Void) async throws {
            #if os(Linux)
            // A loopback address that nothing else uses, so that the port is free.
            let address = "127.\(UInt8.random(in: 1...254)).\(UInt8.random(in: 0...254)).\(UInt8.random(in: 1...254))"
            #else
            let address = "127.0.0.1"
            #endif
            try await TestCertificates.with { certificates in
                try await withPrivateServer(settings: ["listen_addresses": address]) { postgres, database in
                    try certificates.issue(for: host)
                    let directory = await postgres.dataDirectory
                    for (file, name) in [
                        (certificates.files.certificate, "tls.pem"), (certificates.files.key, "tls.key"),
                    ] {
                        try await copy(file, to: "\(directory)/\(name)", of: postgres)
                    }
                    let access = certificates.directory.appending(path: "access").path
                    try TestCertificates.write("local all all trust\nhostssl all all all trust\n", to: access)
                    try await copy(access, to: "\(directory)/pg_hba.conf", of: postgres)
                    try await postgres.psql(
                        """
                        alter system set ssl_cert_file = 'tls.pem';
                        alter system set ssl_key_file = 'tls.key'
                        """)
                    let server = EncryptedServer(
                        postgres: postgres, database: database, certificates: certificates, address: address)
                    try await server.setTLS("on")
                    try await body(server)
                }
            }
        }

        /// Turns TLS on or off, and waits until new connections see it.
        func setTLS(_ state: String) async throws {
            try await postgres.psql("alter system set ssl = \(state)")
            try await postgres.psql("select pg_reload_conf()")
            try await eventually("ssl = \(state)") { try await postgres.psql("show ssl") == "\(state)\n" }
        }

        /// Copies a file so that only the server's user can read it.
        private static func copy(_ file: String, to path: String, of postgres: PrivatePostgres) async throws {
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: file, toPath: path)
            var attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
            if let user = await postgres.serverUser { attributes[.ownerAccountName] = user }
            try FileManager.default.setAttributes(attributes, ofItemAtPath: path)
        }
    }

    @Test("sslmode=verify-full encrypts all connections of a node")
    func verified() async throws {
        try await EncryptedServer.with { server in
            let node = try await ServeProcess.start(
                server.database, environment: ["POSTLINE_DATABASE_URL": server.url()])
            defer { node.command.signal(SIGKILL) }
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            try await bob.sync()
            try await alice.send("to an encrypted database", to: Room.aliceBob)
            try await bob.follow { $0.has("to an encrypted database", in: Room.aliceBob) }
            let encrypted = try await server.database.column(
                """
                select s.ssl from pg_stat_activity as a join pg_stat_ssl as s using (pid) where a.usename = 'postline'
                """)
            #expect(encrypted.count >= 4)
            #expect(encrypted.allSatisfy { $0 == "t" }, "\(encrypted)")
            let found = try await doctor(server.url())
            #expect(found.contains("The database is reached over POSTLINE_DATABASE_URL."), "\(found)")
            await alice.close()
            await bob.close()
        }
    }

    @Test("sslmode=verify-full refuses other servers, and says what to do")
    func refused() async throws {
        try await EncryptedServer.with { server in
            let other = try TestCertificates(in: server.certificates.directory)
            try await expectRefused(
                server.url(authorities: other.authorities), "certificate verify failed",
                "set sslrootcert to a PEM file of the authority that signed the server's certificate")
            try await expectRefused(
                server.url(host: "localhost"), #"for "db.example" does not match host name "localhost""#,
                "set host to a name in the server's certificate")
            try await expectRefused(
                server.url(authorities: "/nowhere.pem"), #"root certificate file "/nowhere.pem" does not exist"#,
                "set sslrootcert to a PEM file, readable by this user")
            // Without certificate verification the same two are accepted.
            for url in [
                server.url(host: "localhost", sslmode: "verify-ca"),
                server.url(authorities: "/nowhere.pem", sslmode: "require"),
            ] {
                let found = try await doctor(url)
                #expect(found.contains("The database is reached over"), "\(found)")
            }
            try await server.setTLS("off")
            try await expectRefused(
                server.url(), "server does not support SSL, but SSL was required", "enable ssl on the server")
        }
    }

    /// Expects each command to give the reason and the advice, and a node to wait unready.
    private func expectRefused(
        _ url: String, _ why: String, _ advice: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let environment = environment(url)
        let migrated = try await Command.run(["migrate"], environment: environment)
        #expect(migrated.status == 1, sourceLocation: sourceLocation)
        let node = try Command(["serve"], environment: environment)
        defer { node.signal(SIGKILL) }
        let port = try await node.port(of: "serving health and metrics")
        let logged = try await node.waitForErrors("waiting for the database")
        let ready: TestHTTPResponse = try await eventually("a node that waits") {
            let answer = try await TestHTTPResponse.get("/readyz", port: port)
            return answer.body.contains("Waiting for the database") ? answer : nil
        }
        #expect(ready.status == 503, sourceLocation: sourceLocation)
        for text in [migrated.errors, logged, ready.body, try await doctor(url)] {
            let plain = text.replacing("\\\"", with: "\"")
            #expect(plain.contains(why) && plain.contains(advice), "\(text)", sourceLocation: sourceLocation)
        }
    }

    private func doctor(_ url: String) async throws -> String {
        try await Command.run(["doctor"], environment: environment(url)).output
    }

    private func environment(_ url: String) -> [String: String] {
        ["POSTLINE_DATABASE_URL": url, "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0"]
    }
}
