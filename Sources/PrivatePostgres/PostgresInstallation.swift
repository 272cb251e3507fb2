#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A PostgreSQL installation on this machine: the directory of its programs and its version.
package struct PostgresInstallation: Sendable, Hashable {
    /// The oldest major version that Postline runs on.
    package static let oldestMajorVersion = 15

    /// The directory of `initdb`, `pg_ctl`, `postgres`, `psql` and `pgbench`.
    package let programs: String
    /// The version as `postgres --version` says it, such as `15.18`.
    package let version: String
    /// The number before the version's dot.
    package let majorVersion: Int

    /// Finds the newest installed PostgreSQL of version 15 or later.
    ///
    /// Looks in `PATH`, where `pg_config` points, and where Debian, Red Hat, Homebrew and Postgres.app put it.
    /// - Parameter major: the one major version that will do, for data that exists; nil takes the newest.
    /// - Throws: `PrivatePostgresError.notInstalled`, whose text says how to install it.
    package static func find(major: Int? = nil) async throws -> PostgresInstallation {
        var best: PostgresInstallation?
        var tooOld: [String] = []
        for programs in await directoriesOfServers() {
            guard let found = await PostgresInstallation(at: programs) else { continue }
            guard found.majorVersion >= oldestMajorVersion else {
                tooOld.append("PostgreSQL \(found.version) in \(programs)")
                continue
            }
            if let major, found.majorVersion != major { continue }
            if let held = best, held.majorVersion >= found.majorVersion { continue }
            best = found
        }
        guard let best else { throw PrivatePostgresError.notInstalled(found: tooOld) }
        return best
    }

    /// The full path of one of PostgreSQL's programs.
    package func program(_ name: String) -> String { "\(programs)/\(name)" }

    /// Returns nil unless all programs that a server needs are in `programs`.
    private init?(at programs: String) async {
        let files = FileManager.default
        let needed = ["initdb", "pg_ctl", "postgres", "psql"]
        guard needed.allSatisfy({ files.isExecutableFile(atPath: "\(programs)/\($0)") }) else { return nil }
        guard let said = try? await Tool.run("\(programs)/postgres", ["--version"]), said.succeeded,
            // "postgres (PostgreSQL) 15.18 (Debian …)", "postgres (PostgreSQL) 18beta1"
            let version = said.output.split(separator: " ").dropFirst(2).first,
            let major = Int(version.prefix(while: \.isNumber))
        else { return nil }
        self.programs = programs
        self.version = String(version.prefix { !$0.isWhitespace })
        self.majorVersion = major
    }

    /// The directories that hold a server's own programs, and not only links to some of them.
    private static func directoriesOfServers() async -> [String] {
        var seen: Set<String> = []
        return await candidates().compactMap { directory in
            let server = "\(directory)/postgres"
            guard FileManager.default.isExecutableFile(atPath: server) else { return nil }
            let path = realPath(server)
            guard let slash = path.lastIndex(of: "/") else { return nil }
            let own = String(path[..<slash])
            return seen.insert(own).inserted ? own : nil
        }
    }

    private static func candidates() async -> [String] {
        var directories = ProcessInfo.processInfo.environment["PATH", default: ""]
            .split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        if let configured = try? await Tool.run("pg_config", ["--bindir"]), configured.succeeded,
            let line = configured.output.split(whereSeparator: \.isNewline).first
        {
            directories.append(String(line))
        }
        // Each is a directory that holds one directory a version, and what leads from there to the programs.
        let parents = [
            ("/usr/lib/postgresql", "", "bin"),
            ("/usr", "pgsql-", "bin"),
            ("/opt/homebrew/opt", "postgresql", "bin"),
            ("/usr/local/opt", "postgresql", "bin"),
            ("/home/linuxbrew/.linuxbrew/opt", "postgresql", "bin"),
            ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
        ]
        for (parent, prefix, rest) in parents {
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
            directories += versions.filter { $0.hasPrefix(prefix) }.sorted().map { "\(parent)/\($0)/\(rest)" }
        }
        return directories
    }
}
