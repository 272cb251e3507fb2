import Foundations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A server process, as recorded in one of its lock files.
struct Postmaster: Sendable, Equatable {
    let processID: Int32
    let data: String

    /// Reads `postmaster.pid` in `data`. Nil if it does not exist or cannot be read.
    init?(data: String) { self.init(file: Self.file(data)) }

    /// Reads a lock file: the process id in its first line, the data directory in its second.
    init?(file: String) {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count >= 2, let id = Int32(lines[0]), id > 1 else { return nil }
        processID = id
        data = String(lines[1])
    }

    static func file(_ data: String) -> String { "\(data)/postmaster.pid" }

    /// True if that process is alive and serves this data.
    ///
    /// The id alone is not enough. After a kill the process may be a zombie that was not reaped (in a container whose
    /// first process does not reap), or another process may have the id; PostgreSQL itself would refuse to start.
    var isServing: Bool {
        guard kill(processID, 0) == 0 || errno == EPERM else { return false }
        #if os(Linux)
        // A server's working directory is its data directory; a zombie has none. For another user's process it cannot
        // be read: then it is assumed to be the server.
        guard let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/cwd")
        else { return !isZombie }
        return directory == realPath(data)
        #else
        return true
        #endif
    }

    /// Returns when the process has ended, after five seconds at most.
    func awaitEnd() async throws {
        for _ in 0..<500 where isServing { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// Sends a signal.
    ///
    /// - Returns: false if the process does not exist or belongs to another user.
    @discardableResult
    func signal(_ number: Int32) -> Bool { kill(processID, number) == 0 }

    #if os(Linux)
    private var isZombie: Bool {
        // "12345 (postgres) Z 1 …": the state follows the last parenthesis.
        guard let text = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return true }
        return text[end...].dropFirst(2).first == "Z"
    }
    #endif
}

/// Returns the path with symbolic links resolved, or the path itself if it does not exist.
func realPath(_ path: String) -> String {
    // realpath allocates its result, which is copied and freed here.
    guard let resolved = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
}
