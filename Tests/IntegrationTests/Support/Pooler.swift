import BoundedWait
import Foundation

/// A PgBouncer of a test's own before the server of a database.
struct Pooler: Sendable {
    enum Mode: String {
        case session, transaction
    }

    /// The service's connection string.
    let url: String

    /// Runs PgBouncer for as long as `body` does.
    ///
    /// - Parameter backends: how many connections to the server it has for all that connect to it.
    static func with<Value: Sendable>(
        _ database: TestDatabase, mode: Mode, backends: Int, _ body: @Sendable (Pooler) async throws -> Value
    ) async throws -> Value {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "postline-pooler-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data(#""postline" """#.utf8).write(to: directory.appending(path: "users"))
        let settings = """
            [databases]
            * = host=\(database.socketDirectory)
            [pgbouncer]
            listen_addr =
            listen_port = 5432
            unix_socket_dir = \(directory.path)
            auth_type = trust
            auth_file = \(directory.path)/users
            pool_mode = \(mode.rawValue)
            default_pool_size = \(backends)
            """
        let file = directory.appending(path: "pgbouncer.ini")
        try Data(settings.utf8).write(to: file)
        var arguments = [file.path]
        if geteuid() == 0 {
            // It does not run as root, and the server's socket is its user's own.
            let owner = try FileManager.default.attributesOfItem(atPath: database.socketDirectory)[.ownerAccountName]
            let user = owner as? String ?? "postgres"
            try FileManager.default.setAttributes([.ownerAccountName: user], ofItemAtPath: directory.path)
            arguments = ["-u", user] + arguments
        }
        let command = try Command(arguments, of: try program())
        do {
            try await command.complains("process up")
            let value = try await body(
                Pooler(url: "postgresql:///\(database.name)?host=\(directory.path)&user=postline"))
            try await end(command)
            return value
        } catch {
            try? await end(command)
            throw error
        }
    }

    private static func end(_ command: Command) async throws {
        command.signal(SIGKILL)
        _ = try await command.exit()
    }

    private static func program() throws -> String {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for directory in directories + ["/usr/sbin", "/opt/homebrew/bin", "/usr/local/bin"] {
            let program = "\(directory)/pgbouncer"
            if FileManager.default.isExecutableFile(atPath: program) { return program }
        }
        throw NotInTime(description: "PgBouncer is not installed: see scripts/install-dependencies.")
    }
}
