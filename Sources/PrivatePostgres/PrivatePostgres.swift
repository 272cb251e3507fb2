import Foundations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A private PostgreSQL server in one directory, for development, tests and measurements.
///
/// It listens on a Unix socket in a directory that only its user can access, and on nothing else unless its settings
/// say so. It needs no password. If this process is root, the server runs as an unprivileged user. It stops on `stop`,
/// and by itself when this process ends in any other way, including `kill -9`.
package actor PrivatePostgres {
    /// The ways to stop a server.
    package enum StopMode: String, Sendable {
        /// Ends sessions and writes a checkpoint.
        case fast
        /// Stops at once; the next start recovers from the WAL.
        case immediate
    }

    /// The installation that runs this server.
    package nonisolated let installation: PostgresInstallation
    /// The requested directory.
    package nonisolated let directory: String

    /// The lock file, which marks a directory that was used by a server.
    package static let lockName = "lock"
    /// The prefix of a cluster that is being created; the id of this process follows.
    private static let draftName = "data.new."

    private let settings: [String: String]
    private let primary: String?
    private var location: ServerLocation?
    private var lock: DirectoryLock?
    private var orphanGuard: OrphanGuard?

    /// Creates a server in `directory`, which is created if missing.
    ///
    /// - Parameters:
    ///   - settings: PostgreSQL's settings by name, such as `["fsync": "off"]` for tests.
    ///   - primary: the URL of a running server, as its superuser, of which this one becomes a streaming replica. Its
    ///     `max_connections` must not be greater than this server's. Nil creates a new cluster.
    package init(
        installation: PostgresInstallation, directory: String, settings: [String: String] = [:],
        standbyOf primary: String? = nil
    ) {
        self.installation = installation
        self.primary = primary
        let path = URL(fileURLWithPath: directory).standardizedFileURL.path
        self.directory = path
        self.settings = settings
    }

    deinit { orphanGuard?.latch.finish() }

    /// Creates the database cluster if there is none, starts the server, and returns once it accepts connections.
    ///
    /// A server that an earlier process left on the same directory is stopped first. Does nothing if the server already
    /// runs.
    ///
    /// - Throws: `PrivatePostgresError`, whose text is for people.
    package func start() async throws {
        // The lock file contains the path in one line.
        guard !directory.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
            throw PrivatePostgresError.unusable(
                directory: directory,
                reason: "PostgreSQL accepts no path with a line break or another control character")
        }
        try makeDirectories(directory)
        if lock == nil { lock = try DirectoryLock(file: "\(directory)/\(Self.lockName)", of: directory) }
        do {
            let location = try await ServerLocation(asked: directory)
            self.location = location
            if orphanGuard != nil, let running = Postmaster(data: location.data), running.isServing { return }
            dismissKeeper()
            try await clearLeftovers(of: location)
            if FileManager.default.fileExists(atPath: location.data) {
                try checkData(of: location)
            } else {
                try await makeCluster(in: location)
            }
            try await startServer(in: location)
        } catch {
            lock = nil
            throw error
        }
    }

    /// Stops the server, and returns once it has ended. Does nothing if it does not run.
    package func stop(mode: StopMode = .fast) async throws {
        defer {
            dismissKeeper()
            lock = nil
        }
        guard lock != nil, let location, let running = Postmaster(data: location.data), running.isServing else {
            return
        }
        try await stop(running, of: location, mode)
    }

    /// Removes the data and sockets of a stopped server. `directory` itself stays.
    ///
    /// - Returns: false if this server never held the directory, for example because another process has its lock.
    package func erase() -> Bool {
        guard let location else { return false }
        for path in [location.data, location.sockets] + (location.directory == directory ? [] : [location.directory]) {
            try? FileManager.default.removeItem(atPath: path)
        }
        return true
    }

    /// Kills the server process with SIGKILL, as a crash would, and returns once it has ended.
    ///
    /// Its backends exit by themselves, and `start` recovers.
    package func kill() async throws {
        guard let location, let running = Postmaster(data: location.data), running.isServing else { return }
        running.signal(SIGKILL)
        try await running.awaitEnd()
        dismissKeeper()
    }

    /// The process id of the running server, or nil.
    package var serverProcessID: Int32? {
        guard let location, let running = Postmaster(data: location.data), running.isServing else { return nil }
        return running.processID
    }

    /// The data directory. It is not below `directory` if the server's user cannot access that. Empty before `start`.
    package var dataDirectory: String { location?.data ?? "" }

    /// The directory of the Unix socket, for libpq's `host`. Empty before `start`.
    package var socketDirectory: String { location?.sockets ?? "" }

    /// The user that the server runs as, if it is not the user of this process. Nil before `start`.
    package var serverUser: String? { location?.user?.name }

    /// The connection URL of a database, for libpq and for `psql`. The superuser is `postgres`.
    package func url(user: String = "postgres", database: String = "postgres") -> String {
        "postgresql://\(percentEncoded(user))@/\(percentEncoded(database))?host=\(percentEncoded(socketDirectory))&port=5432"
    }

    /// Removes all of libpq's variables (`PGPORT`, `PGHOSTADDR`, `PGSERVICE`, …) from this process's environment, since
    /// some of them take precedence over a URL. Call it before other threads read the environment.
    package static func clearEnvironment() {
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("PG") { unsafe unsetenv(name) }
    }

    /// Runs `psql` with SQL on its standard input, and stops at the first error.
    ///
    /// - Returns: the output: rows without headings or padding, columns separated by `|`.
    /// - Throws: `PrivatePostgresError.failed` with the server's message.
    @discardableResult
    package func psql(_ sql: String, user: String = "postgres", database: String = "postgres") async throws -> String {
        let result = try await Tool.run(
            installation.program("psql"),
            ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url(user: user, database: database)], input: sql)
        guard result.succeeded else {
            throw PrivatePostgresError.failed(program: "psql", output: trimmed(result.output))
        }
        return result.output
    }

    private func checkData(of location: ServerLocation) throws {
        let file = "\(location.data)/PG_VERSION"
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            guard FileManager.default.isReadableFile(atPath: location.data) else {
                throw PrivatePostgresError.unusable(directory: location.data, reason: "it belongs to another user")
            }
            throw PrivatePostgresError.notData(directory: location.data)
        }
        let version = trimmed(text)
        guard version == String(installation.majorVersion) else {
            throw PrivatePostgresError.otherMajorVersion(
                directory: location.directory, data: version, installed: installation.majorVersion)
        }
    }

    /// Stops a server that an earlier process left running, and removes the files of dead servers and interrupted
    /// starts.
    private func clearLeftovers(of location: ServerLocation) async throws {
        if let left = Postmaster(data: location.data), left.isServing {
            guard left.signal(0) else {
                throw PrivatePostgresError.foreignServer(directory: location.directory, process: left.processID)
            }
            try await stop(left, of: location, .fast)
        }
        // This process holds the directory's lock, so the files belong to no living server. PostgreSQL would refuse to
        // start if a zombie or another process had the id in them.
        for file in [Postmaster.file(location.data), "\(location.sockets)/\(ServerLocation.socketName).lock"] {
            guard let left = Postmaster(file: file), !left.isServing else { continue }
            try? FileManager.default.removeItem(atPath: file)
        }
        // If `initdb` still writes to a draft, the rest of it is removed the next time.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: location.directory)) ?? []
        where name.hasPrefix(Self.draftName) {
            try? FileManager.default.removeItem(atPath: "\(location.directory)/\(name)")
        }
    }

    /// Creates the cluster under another name and renames it when complete, so that an interrupted start leaves no
    /// partial cluster.
    ///
    /// Each start uses a name of its own: `initdb` of a killed process may still run.
    private func makeCluster(in location: ServerLocation) async throws {
        let draft = "\(location.directory)/\(Self.draftName)\(getpid())"
        try makePrivateDirectory(draft, for: location.user)
        if let primary { return try await copy(primary, to: draft, in: location) }
        var arguments = ["-D", draft, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-instructions"]
        if settings["fsync"] == "off" { arguments.append("--no-sync") }
        // C.UTF-8 maps the case of letters beyond ASCII. Not every system has it.
        let locales = [["--locale=C.UTF-8"], ["--locale=C", "--lc-ctype=UTF-8"], ["--locale=C"]]
        var said = ""
        for locale in locales {
            let result = try await Tool.run(installation.program("initdb"), arguments + locale, as: location.user)
            if result.succeeded {
                guard unsafe rename(draft, location.data) == 0 else { throw unusable(location.data) }
                return
            }
            said = result.output
            guard said.contains("locale") else { break }
        }
        throw PrivatePostgresError.failed(program: "initdb", output: end(of: said))
    }

    private func copy(_ primary: String, to draft: String, in location: ServerLocation) async throws {
        var arguments = ["-D", draft, "-d", primary, "-R", "-X", "stream", "-c", "fast"]
        if settings["fsync"] == "off" { arguments.append("--no-sync") }
        let result = try await Tool.run(installation.program("pg_basebackup"), arguments, as: location.user)
        guard result.succeeded else {
            throw PrivatePostgresError.failed(program: "pg_basebackup", output: end(of: result.output))
        }
        guard unsafe rename(draft, location.data) == 0 else { throw unusable(location.data) }
    }

    private func startServer(in location: ServerLocation) async throws {
        var options = settings
        options["listen_addresses"] = options["listen_addresses"] ?? ""
        options["port"] = "5432"
        options["unix_socket_directories"] = "\"\(location.sockets)\""
        options["unix_socket_permissions"] = "0700"
        // pg_ctl hands this text to a shell.
        let quoted = options.sorted { $0.key < $1.key }
            .map { "-c \(shellQuoted("\($0.key)=\($0.value)"))" }.joined(separator: " ")
        // It passes the paths to a shell too, in double quotes. Relative paths contain nothing that a shell expands.
        let arguments = ["start", "-D", ".", "-l", location.logName, "-o", quoted, "-w", "-t", "60", "-s"]
        // After a kill, the server's backends hold its shared memory until they exit, which takes a moment.
        var attempt = 0
        while true {
            // Each start has its own log file, so that errors in it belong to this start. The previous one is kept.
            if FileStatus(of: location.log) != nil { _ = unsafe rename(location.log, "\(location.log).old") }
            let result = try await Tool.run(
                installation.program("pg_ctl"), arguments, as: location.user, in: location.data)
            if result.succeeded { break }
            let logged = contents(of: location.log)
            attempt += 1
            guard attempt <= 50, logged.contains("pre-existing shared memory block") else {
                throw PrivatePostgresError.failed(
                    program: "postgres", output: end(of: logged.isEmpty ? result.output : logged))
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        guard let running = Postmaster(data: location.data) else {
            throw PrivatePostgresError.failed(program: "postgres", output: end(of: contents(of: location.log)))
        }
        orphanGuard = OrphanGuard(of: running, as: location.user)
    }

    private func dismissKeeper() {
        orphanGuard?.task.cancel()
        orphanGuard = nil
    }

    /// Stops a server, and returns once it has ended.
    private func stop(_ server: Postmaster, of location: ServerLocation, _ mode: StopMode) async throws {
        let arguments = ["stop", "-D", location.data, "-m", mode.rawValue, "-w", "-t", "60", "-s"]
        let result = try await Tool.run(installation.program("pg_ctl"), arguments, as: location.user)
        guard !result.succeeded else { return }
        // A server that stops already because its guard saw our process end may be gone before pg_ctl finds it.
        try await server.awaitEnd()
        guard !server.isServing else {
            throw PrivatePostgresError.failed(program: "pg_ctl", output: trimmed(result.output))
        }
    }
}

private func makeDirectories(_ path: String) throws {
    do {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
        throw PrivatePostgresError.unusable(directory: path, reason: "it cannot be made")
    }
}

private func contents(of file: String) -> String {
    (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
}

private func trimmed(_ text: String) -> String {
    let start = text.drop(while: \.isWhitespace)
    return String(start.reversed().drop(while: \.isWhitespace).reversed())
}

/// Returns the last lines of a program's output, which contain the reason.
private func end(of text: String) -> String {
    text.split(whereSeparator: \.isNewline).suffix(5).joined(separator: "\n")
}

private func shellQuoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// Percent-encodes everything but unreserved characters and the slash, which libpq accepts.
private func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF")
    var encoded = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "/"):
            encoded.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
    }
    return encoded
}
