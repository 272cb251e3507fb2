#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A PostgreSQL server of one's own, in one directory, for development, tests and measurements.
///
/// It listens on a Unix socket in a directory that is private to its user, and on nothing else unless its settings say
/// so; whoever gets there needs no password. Where this process is root the server runs as an unprivileged user. It is
/// stopped by `stop`, and goes by itself when this process ends in any other way, be it by `kill -9`.
public actor PrivatePostgres {
    /// How a server is stopped.
    public enum StopMode: String, Sendable {
        /// Sessions are ended, and the data is written down in order.
        case fast
        /// Everything is dropped at once; the next start recovers from the log.
        case immediate
    }

    /// The PostgreSQL that this server is run by.
    public nonisolated let installation: PostgresInstallation
    /// The directory that was asked for.
    public nonisolated let directory: String

    /// The file by which a directory that was used by a server is known.
    public static let lockName = "lock"
    /// What the name of a cluster begins with that is still being made; the number of our process follows.
    private static let draftName = "data.new."

    private let settings: [String: String]
    private let primary: String?
    private var place: ServerPlace?
    private var lock: DirectoryLock?
    private var orphanGuard: OrphanGuard?

    /// A server in `directory`, which is made where it is missing.
    /// - Parameters:
    ///   - settings: PostgreSQL's settings by name, such as `["fsync": "off"]` for tests.
    ///   - primary: the URL, as its superuser, of a server that runs: this one begins as a copy of it, and follows it as
    ///     a streaming replica. Its `max_connections` must not be less. Nil: a cluster of its own.
    public init(
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

    /// Makes the database cluster where there is none, starts the server, and returns when it takes connections.
    ///
    /// A server that an earlier process left running on the same directory is stopped first. Calling it on a server
    /// that runs already does nothing.
    /// - Throws: `PrivatePostgresError`, whose text is for a person.
    public func start() async throws {
        // Its lock file has the path in one line.
        guard !directory.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
            throw PrivatePostgresError.unusable(
                directory: directory, reason: "PostgreSQL takes no path with a line break or another control character")
        }
        try makeDirectories(directory)
        if lock == nil { lock = try DirectoryLock(file: "\(directory)/\(Self.lockName)", of: directory) }
        do {
            let place = try await ServerPlace(asked: directory)
            self.place = place
            if orphanGuard != nil, let running = Postmaster(data: place.data), running.isServing { return }
            dismissKeeper()
            try await clearLeftovers(of: place)
            if FileManager.default.fileExists(atPath: place.data) {
                try checkData(of: place)
            } else {
                try await makeCluster(in: place)
            }
            try await startServer(in: place)
        } catch {
            lock = nil
            throw error
        }
    }

    /// Stops the server and returns when it is gone; does nothing where none runs.
    public func stop(mode: StopMode = .fast) async throws {
        defer {
            dismissKeeper()
            lock = nil
        }
        guard lock != nil, let place, let running = Postmaster(data: place.data), running.isServing else {
            return
        }
        try await stop(running, of: place, mode)
    }

    /// Removes the data and sockets of a server that was stopped, or did not start. `directory` itself stays.
    ///
    /// - Returns: false if the directory was never this server's, as when another process had its lock.
    public func erase() -> Bool {
        guard let place else { return false }
        for path in [place.data, place.sockets] + (place.directory == directory ? [] : [place.directory]) {
            try? FileManager.default.removeItem(atPath: path)
        }
        return true
    }

    /// Kills the server process with SIGKILL, as a crash would, and returns when it is gone.
    ///
    /// Its backends notice by themselves; `start` recovers.
    public func kill() async throws {
        guard let place, let running = Postmaster(data: place.data), running.isServing else { return }
        running.signal(SIGKILL)
        try await running.awaitEnd()
        dismissKeeper()
    }

    /// The process number of the running server; nil where none runs.
    public var serverProcessID: Int32? {
        guard let place, let running = Postmaster(data: place.data), running.isServing else { return nil }
        return running.processID
    }

    /// The directory of the data. Not below `directory` where the server's user cannot get there. Empty before `start`.
    public var dataDirectory: String { place?.data ?? "" }

    /// The directory of the Unix socket, for libpq's `host`. Empty before `start`.
    public var socketDirectory: String { place?.sockets ?? "" }

    /// The user that the server runs as where that is another than ours; nil otherwise, and before `start`.
    public var serverUser: String? { place?.user?.name }

    /// The connection URL of a database, for libpq and for `psql`. The superuser is `postgres`.
    public func url(user: String = "postgres", database: String = "postgres") -> String {
        "postgresql://\(percentEncoded(user))@/\(percentEncoded(database))?host=\(percentEncoded(socketDirectory))&port=5432"
    }

    /// Takes all of libpq's variables (`PGPORT`, `PGHOSTADDR`, `PGSERVICE`, …) from this process's environment: some of
    /// them go before what a URL says. To be called before other threads read the environment.
    public static func clearEnvironment() {
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("PG") { unsafe unsetenv(name) }
    }

    /// Runs `psql` with SQL on its standard input, stopping at the first error.
    /// - Returns: what it printed: rows without headings or padding, columns apart by `|`.
    /// - Throws: `PrivatePostgresError.failed` with what the server said.
    @discardableResult
    public func psql(_ sql: String, user: String = "postgres", database: String = "postgres") async throws -> String {
        let result = try await Tool.run(
            installation.program("psql"),
            ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url(user: user, database: database)], input: sql)
        guard result.succeeded else {
            throw PrivatePostgresError.failed(program: "psql", output: trimmed(result.output))
        }
        return result.output
    }

    private func checkData(of place: ServerPlace) throws {
        let file = "\(place.data)/PG_VERSION"
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            guard FileManager.default.isReadableFile(atPath: place.data) else {
                throw PrivatePostgresError.unusable(directory: place.data, reason: "it belongs to another user")
            }
            throw PrivatePostgresError.notData(directory: place.data)
        }
        let version = trimmed(text)
        guard version == String(installation.majorVersion) else {
            throw PrivatePostgresError.otherMajorVersion(
                directory: place.directory, data: version, installed: installation.majorVersion)
        }
    }

    /// Stops a server that an earlier process of ours left, and removes the traces of one that is dead, and of starts that
    /// were cut short.
    private func clearLeftovers(of place: ServerPlace) async throws {
        if let left = Postmaster(data: place.data), left.isServing {
            guard left.signal(0) else {
                throw PrivatePostgresError.foreignServer(directory: place.directory, process: left.processID)
            }
            try await stop(left, of: place, .fast)
        }
        // We hold the directory's lock, so what is left is of no living server; PostgreSQL would refuse to start over
        // a lock file whose number a zombie or another process has.
        for file in [Postmaster.file(place.data), "\(place.sockets)/\(ServerPlace.socketName).lock"] {
            guard let left = Postmaster(file: file), !left.isServing else { continue }
            try? FileManager.default.removeItem(atPath: file)
        }
        // Of a draft that is still being written to, a part stays for the next time.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: place.directory)) ?? []
        where name.hasPrefix(Self.draftName) {
            try? FileManager.default.removeItem(atPath: "\(place.directory)/\(name)")
        }
    }

    /// Makes the cluster beside its place and moves it there whole, so that a start cut short leaves none that is half made.
    ///
    /// Each start has a draft of its own: `initdb` may still be at work for one that was killed.
    private func makeCluster(in place: ServerPlace) async throws {
        let draft = "\(place.directory)/\(Self.draftName)\(getpid())"
        try makePrivateDirectory(draft, for: place.user)
        if let primary { return try await copy(primary, to: draft, in: place) }
        var arguments = ["-D", draft, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-instructions"]
        if settings["fsync"] == "off" { arguments.append("--no-sync") }
        // C.UTF-8 knows the case of letters beyond ASCII. Not every system has it.
        let locales = [["--locale=C.UTF-8"], ["--locale=C", "--lc-ctype=UTF-8"], ["--locale=C"]]
        var said = ""
        for locale in locales {
            let result = try await Tool.run(installation.program("initdb"), arguments + locale, as: place.user)
            if result.succeeded {
                guard unsafe rename(draft, place.data) == 0 else { throw unusable(place.data) }
                return
            }
            said = result.output
            guard said.contains("locale") else { break }
        }
        throw PrivatePostgresError.failed(program: "initdb", output: end(of: said))
    }

    private func copy(_ primary: String, to draft: String, in place: ServerPlace) async throws {
        var arguments = ["-D", draft, "-d", primary, "-R", "-X", "stream", "-c", "fast"]
        if settings["fsync"] == "off" { arguments.append("--no-sync") }
        let result = try await Tool.run(installation.program("pg_basebackup"), arguments, as: place.user)
        guard result.succeeded else {
            throw PrivatePostgresError.failed(program: "pg_basebackup", output: end(of: result.output))
        }
        guard unsafe rename(draft, place.data) == 0 else { throw unusable(place.data) }
    }

    private func startServer(in place: ServerPlace) async throws {
        var options = settings
        options["listen_addresses"] = options["listen_addresses"] ?? ""
        options["port"] = "5432"
        options["unix_socket_directories"] = "\"\(place.sockets)\""
        options["unix_socket_permissions"] = "0700"
        // pg_ctl hands this text to a shell.
        let quoted = options.sorted { $0.key < $1.key }
            .map { "-c \(shellQuoted("\($0.key)=\($0.value)"))" }.joined(separator: " ")
        // It hands the paths to a shell too, in double quotes. Relative ones have nothing in them that one expands.
        let arguments = ["start", "-D", ".", "-l", place.logName, "-o", quoted, "-w", "-t", "60", "-s"]
        // After a kill, the dead server's backends hold its shared memory until they notice, which takes a moment.
        var attempt = 0
        while true {
            // Each start has a log of its own, so that what it says is about this start; the one before is kept.
            if FileFacts(of: place.log) != nil { _ = unsafe rename(place.log, "\(place.log).old") }
            let result = try await Tool.run(
                installation.program("pg_ctl"), arguments, as: place.user, in: place.data)
            if result.succeeded { break }
            let logged = contents(of: place.log)
            attempt += 1
            guard attempt <= 50, logged.contains("pre-existing shared memory block") else {
                throw PrivatePostgresError.failed(
                    program: "postgres", output: end(of: logged.isEmpty ? result.output : logged))
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        guard let running = Postmaster(data: place.data) else {
            throw PrivatePostgresError.failed(program: "postgres", output: end(of: contents(of: place.log)))
        }
        orphanGuard = OrphanGuard(of: running, as: place.user)
    }

    private func dismissKeeper() {
        orphanGuard?.task.cancel()
        orphanGuard = nil
    }

    /// Stops a server, and returns when it is gone.
    private func stop(_ server: Postmaster, of place: ServerPlace, _ mode: StopMode) async throws {
        let arguments = ["stop", "-D", place.data, "-m", mode.rawValue, "-w", "-t", "60", "-s"]
        let result = try await Tool.run(installation.program("pg_ctl"), arguments, as: place.user)
        guard !result.succeeded else { return }
        // One that is stopping already, since its guard saw our process die, may be gone before pg_ctl finds it.
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

/// The last lines of what a program said: the reason is there.
private func end(of text: String) -> String {
    text.split(whereSeparator: \.isNewline).suffix(5).joined(separator: "\n")
}

private func shellQuoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// Percent-encodes everything but unreserved characters and the slash, which libpq takes as it is.
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
