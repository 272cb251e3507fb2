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

/// A server process as one of its lock files names it.
struct Postmaster: Sendable, Equatable {
    let processID: Int32
    let data: String

    /// What `postmaster.pid` in `data` says; nil where there is none, or it cannot be read.
    init?(data: String) { self.init(file: Self.file(data)) }

    /// What a lock file says: the process in its first line, the data directory in its second.
    init?(file: String) {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count >= 2, let id = Int32(lines[0]), id > 1 else { return nil }
        processID = id
        data = String(lines[1])
    }

    static func file(_ data: String) -> String { "\(data)/postmaster.pid" }

    /// Whether that process is alive and is the server of its data.
    ///
    /// A number alone does not tell: after a kill it may be a zombie that nobody has waited for yet (in a container
    /// whose first process does not), or have been given to another process; PostgreSQL itself would refuse to start.
    var isServing: Bool {
        guard kill(processID, 0) == 0 || errno == EPERM else { return false }
        #if os(Linux)
        // A server's working directory is its data directory; a zombie has none.
        // Another user's process does not show it: then it is taken for the server.
        guard let directory = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(processID)/cwd")
        else { return !isZombie }
        return directory == realPath(data)
        #else
        return true
        #endif
    }

    /// Returns when it is gone, and after five seconds in any case.
    func awaitEnd() async throws {
        for _ in 0..<500 where isServing { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// Sends a signal; false where there is no such process, or it is another user's.
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

/// The path without symbolic links; the path itself where it does not exist.
func realPath(_ path: String) -> String {
    // realpath allocates the answer, which is copied and freed here.
    guard let resolved = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
}
