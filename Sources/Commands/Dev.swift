import Accounts
import ArgumentParser
import ChangeFeed
import FoundationEssentials
import Foundations
import Gateway
import LineServer
import Logging
import PrivatePostgres
import Schema
import Synchronization
import SystemPackage
import WireProtocol

/// `postline dev`.
struct Dev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve a dev world with a private PostgreSQL.",
        discussion: """
            Starts a private PostgreSQL, migrates it, adds sample users and messages, and serves. All its data is in one \
            directory; remove that to start over.
            """)

    @OptionGroup var options: SettingOptions

    @Option(help: "The directory of the dev world.", completion: .directory)
    var directory = ".postline"

    func run() async throws {
        try await CommandFailure.reported {
            let settings = try Settings(options)
            try settings.requireNoDatabase()
            try await settings.requireFreePorts()
            let isNew = try Self.requireWorld(directory)
            let wasThere = FileManager.default.fileExists(atPath: directory)
            // The world's URL is complete. libpq would take missing parts from the environment.
            PrivatePostgres.clearEnvironment()
            // An idle database mostly writes full pages to its WAL; compression saves two thirds. All supported
            // versions accept `on`.
            let postgres = PrivatePostgres(
                installation: try await .find(), directory: directory, settings: ["wal_compression": "on"])
            let hasServed = DevWorld.Mark()
            do {
                try await postgres.start()
                try await DevWorld(settings, postgres: postgres, directory: directory, hasServed: hasServed).serve()
            } catch {
                try? await postgres.stop()
                // A start that fails, for example because a port is in use, leaves nothing behind.
                if isNew, !hasServed.isSet, await postgres.erase() { Self.erase(directory, itself: !wasThere) }
                throw error
            }
            try await postgres.stop()
        }
    }

    /// Checks that the directory is missing, empty, or already a world, which has a lock file.
    ///
    /// - Returns: true if it is missing or empty.
    /// - Throws: `SettingsError` if it contains other files.
    private static func requireWorld(_ directory: String) throws -> Bool {
        guard !directory.isEmpty else { throw SettingsError("--directory must name a directory.") }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        guard names.isEmpty || names.contains(PrivatePostgres.lockName) else {
            throw SettingsError(
                "\(directory) is neither empty nor a dev world: let --directory name an empty or new directory."
            )
        }
        return names.isEmpty
    }

    /// Removes the contents of the directory, and with `itself` the directory too.
    private static func erase(_ directory: String, itself: Bool) {
        let files = FileManager.default
        if itself { return _ = try? files.removeItem(atPath: directory) }
        for name in (try? files.contentsOfDirectory(atPath: directory)) ?? [] {
            try? files.removeItem(atPath: "\(directory)/\(name)")
        }
    }
}

extension Settings {
    /// - Throws: `SettingsError` if a database is set, which `dev` would not use.
    fileprivate func requireNoDatabase() throws {
        let given = [
            ("database_url", databaseURL), ("listen_database_url", listenDatabaseURL),
            ("replica_database_url", replicaDatabaseURL), ("admin_database_url", adminDatabaseURL),
        ]
        guard let (key, _) = given.first(where: { $0.1 != nil }) else { return }
        throw SettingsError(
            "`postline dev` uses a private PostgreSQL, not \(name(of: key)): remove that, or "
                + "run `postline serve`.")
    }
}

/// The database of `postline dev`, its secrets, and the text printed at the start.
private struct DevWorld {
    private static let database = "postline"
    private static let password = "postline-dev"

    /// The salt of the seed's password hashes, by which seeded users are found.
    private static let salt = "$cG9zdGxpbmUtZGV2LXNhbHQ$"

    private let postgres: PrivatePostgres
    private let directory: String
    private let hasServed: Mark
    private var settings: Settings

    /// A flag that is set once the world is served.
    final class Mark: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { value.load(ordering: .acquiring) }
        func set() { value.store(true, ordering: .releasing) }
    }

    init(_ settings: Settings, postgres: PrivatePostgres, directory: String, hasServed: Mark) async throws {
        self.postgres = postgres
        self.hasServed = hasServed
        self.directory = directory
        self.settings = settings
        self.settings.databaseURL = await postgres.url(user: "postline", database: Self.database)
        self.settings.listenDatabaseURL = nil
        self.settings.adminDatabaseURL = await postgres.url(database: Self.database)
        self.settings.jwtSecret = try settings.jwtSecret ?? Self.secret(in: directory)
        if settings.httpPort != nil, settings.media.s3Endpoint == nil {
            self.settings.media.directory = settings.media.directory ?? "\(directory)/media"
            self.settings.media.isAtHand = true
        }
        if settings.accountProvider == .builtin {
            self.settings.mail.from = settings.mail.from ?? "Postline <postline@localhost>"
            if !settings.mail.isGiven { self.settings.mail.directory = "\(directory)/mail" }
        }
        try writeSettings([:])
    }

    func serve() async throws {
        let exists = try await postgres.psql("select 1 from pg_database where datname = '\(Self.database)'")
        if exists.isEmpty { try await postgres.psql("create database \(Self.database)") }
        let node = try await Node(settings) { Self.say("mail: \($0)") }
        try await node.awaitDatabase(migrating: true)
        if let admin = settings.adminDatabaseURL { try await Migrator(url: admin, logger: node.logger).seed() }
        let people = try await postgres.psql(
            """
            select u.id || chr(9) || u.email || chr(9) || coalesce(p.full_name, '') from auth.users u \
            left join public.user_profiles p on p.id = u.id \
            where u.email is not null and strpos(u.encrypted_password, '\(Self.salt)') > 0 \
            order by u.created_at, u.email
            """, database: Self.database
        ).split(separator: "\n").map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            return Console.DemoAccount(
                userID: String(fields[0]), email: String(fields[1]), password: Self.password,
                fullName: String(fields[2]))
        }
        let psql = "\(postgres.installation.program("psql")) '\(await postgres.url(database: Self.database))'"
        let data = await postgres.dataDirectory
        try await node.observed { [directory] operations in
            try await node.serve(console: Console(demoAccounts: people)) { address, http in
                hasServed.set()
                do {
                    try writeSettings(places(lines: address, http: http, operations: operations))
                } catch {
                    // Only other commands need them: the world itself is served.
                    node.logger.error("settings.json cannot be written", metadata: ["error": "\(error)"])
                }
                let greeting = Self.greeting(
                    address: address, http: http, operations: operations, psql: psql, emails: people.map(\.email),
                    data: data,
                    directory: directory, certificate: settings.tlsCertificate)
                Self.say(greeting)
            }
        }
    }

    /// Writes directly, since `print` buffers output to a pipe.
    private static func say(_ text: String) { _ = try? FileDescriptor.standardOutput.writeAll((text + "\n").utf8) }

    /// Returns the text printed at the start, one `name: value` per line, for people and scripts.
    private static func greeting(
        address: LineServer.Address, http: LineServer.Address?, operations: LineServer.Address?, psql: String,
        emails: [String], data: String, directory: String, certificate: String?
    ) -> String {
        let program = CommandLine.arguments.first ?? "postline"
        let port = address.port == 7432 ? "" : " --port \(address.port)"
        // A self-signed certificate is its own authority, mostly for `localhost`.
        let host = ["127.0.0.1", "0.0.0.0", "::", "localhost"].contains(address.host) ? "" : " --host \(address.host)"
        let trust = certificate.map { " --host localhost --tls-ca \(Self.quoted($0))" } ?? host
        var lines = ["lines: \(address.hostAndPort)"]
        if let http { lines.append("console: \(http.url(isEncrypted: certificate != nil))/") }
        if let operations { lines.append("operations: \(operations.url(isEncrypted: false))/metrics") }
        lines += ["psql: \(psql)", "data: \(data)"]
        lines += emails.map { "user: \($0) \(password)" }
        lines += emails.prefix(2).map { "try: \(program) chat \($0)\(port)\(trust)" }
        lines.append(
            "try: \(program) token \(emails.first ?? "EMAIL") --config \(Self.quoted("\(directory)/settings.json"))")
        lines.append("stop: Ctrl-C (the world stays in \(directory); remove it to start over)")
        return lines.joined(separator: "\n")
    }

    /// Returns the word quoted for a shell, if necessary.
    private static func quoted(_ word: String) -> String {
        let plain = word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/._-+:,@".contains($0)) }
        return plain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }

    /// Returns the signing secret. It is created once and kept, so that tokens and cursors survive a restart.
    private static func secret(in directory: String) throws -> String {
        let path = "\(directory)/jwt-secret"
        if let secret = try? String(contentsOfFile: path, encoding: .utf8) {
            guard secret.utf8.count >= TokenKeys.minSecretBytes else {
                throw SettingsError(
                    "\(path) has less than \(TokenKeys.minSecretBytes) bytes: remove it, "
                        + "and `postline dev` makes a new one.")
            }
            return secret
        }
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal
        try write(secret, to: path)
        return secret
    }

    /// Returns the addresses that the world actually listens on, and its certificate, as settings.
    private func places(
        lines: LineServer.Address, http: LineServer.Address?, operations: LineServer.Address?
    ) -> [String: String] {
        var places = ["host": lines.host, "port": "\(lines.port)"]
        places["http_host"] = http?.host
        places["http_port"] = http.map { "\($0.port)" } ?? "off"
        places["operations_host"] = operations?.host
        places["operations_port"] = operations.map { "\($0.port)" } ?? "off"
        places["tls_certificate"] = settings.tlsCertificate.map { URL(fileURLWithPath: $0).path }
        places["tls_key"] = settings.tlsKey.map { URL(fileURLWithPath: $0).path }
        return places
    }

    /// Writes the settings that other commands read by `--config`, or `doctor` and `admin` by `--directory`.
    private func writeSettings(_ places: [String: String]) throws {
        var object = places
        object["database_url"] = settings.databaseURL
        object["admin_database_url"] = settings.adminDatabaseURL
        object["jwt_secret"] = settings.jwtSecret
        let json = JSONObject(object.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: .string($0.value)) })
        try Self.write(json.text + "\n", to: "\(directory)/settings.json")
    }

    /// Writes a file that only its owner can read.
    private static func write(_ text: String, to path: String) throws {
        try? FileManager.default.removeItem(atPath: path)
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        else { throw SettingsError("\(path) cannot be written.") }
    }
}
