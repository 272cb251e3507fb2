import Foundations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The directories of a private server's data and socket, and the user that it runs as.
struct ServerLocation: Sendable {
    /// The directory that contains the data: the requested one, or one that the server's user can access.
    let directory: String
    let data: String
    let sockets: String
    let user: ServerUser?

    let logName = "server.log"
    var log: String { "\(data)/\(logName)" }

    /// `sun_path` holds 104 bytes on macOS and 108 on Linux, its closing NUL among them.
    static let longestSocketPath = 103
    static let socketName = ".s.PGSQL.5432"

    /// Chooses the directories for `asked` and creates them as needed. All but the first are private to the server's
    /// user.
    init(asked: String) async throws {
        var location = asked
        var user = ServerUser.unprivileged()
        if let chosen = user {
            if !(await Self.canReach(asked, as: chosen)) {
                location = try Self.reachable(for: asked)
            }
            if let facts = FileStatus(of: "\(location)/data"), facts.owner != 0 {
                user = .owner(id: facts.owner, group: facts.group)
            }
        }
        self.user = user
        directory = location
        data = "\(location)/data"
        let beside = "\(location)/run"
        // A comma would separate two directories, and a quote would end one.
        let isPlain = !beside.contains { ",\"\\".contains($0) }
        if isPlain, "\(beside)/\(Self.socketName)".utf8.count <= Self.longestSocketPath {
            sockets = beside
        } else {
            sockets = "/tmp/postline-\(Self.fingerprint(of: location))"
        }
        try makePrivateDirectory(sockets, for: user)
    }

    /// Returns true if that user can access the directory. It asks the system, which considers mounts and access lists.
    private static func canReach(_ directory: String, as user: ServerUser) async -> Bool {
        let result = try? await Tool.run("sh", ["-c", "cd \"$0\"", directory], as: user)
        return result?.succeeded ?? false
    }

    /// Returns a directory for the data of `asked` that every user can access, always the same one.
    private static func reachable(for asked: String) throws -> String {
        let name = fingerprint(of: realPath(asked))
        let parent = "/var/lib/postline"
        if unsafe mkdir(parent, 0o755) == 0 || errno == EEXIST {
            let location = "\(parent)/\(name)"
            if unsafe mkdir(location, 0o755) == 0 || errno == EEXIST { return location }
        }
        let location = "/tmp/postline-data-\(name)"
        guard unsafe mkdir(location, 0o755) == 0 || errno == EEXIST else { throw unusable(location) }
        guard let facts = FileStatus(ofLink: location), facts.isDirectory, facts.owner == geteuid() else {
            throw PrivatePostgresError.unusable(directory: location, reason: "it belongs to another user")
        }
        return location
    }

    /// Returns sixteen hexadecimal digits derived from a path (FNV-1a), the same in every process.
    static func fingerprint(of path: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in path.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return hash.hexadecimal
    }
}
