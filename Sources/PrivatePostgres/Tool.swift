import Subprocess

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs a program and collects its output.
enum Tool {
    struct Result: Sendable {
        let succeeded: Bool
        /// Standard output and standard error, together, in the order they were written.
        let output: String
    }

    /// The environment of every program: that of this process, without variables that would redirect PostgreSQL's
    /// programs.
    static var environment: Environment {
        var changes: [Environment.Key: String?] = [:]
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("PG") {
            changes.updateValue(nil, forKey: Environment.Key(stringLiteral: name))
        }
        // English messages, and on macOS a locale that `postgres` needs to start.
        changes.updateValue("C", forKey: "LC_ALL")
        return .inherit.updating(changes)
    }

    /// Runs a program by path or by name in `PATH`, as `user`, or as the current user if nil.
    ///
    /// - Parameter directory: its working directory.
    static func run(
        _ program: String, _ arguments: [String], as user: ServerUser? = nil, in directory: String = "/",
        input: String = ""
    ) async throws -> Result {
        let command = user?.command(program, arguments) ?? [program] + arguments
        // A shell changes the directory first: PostgreSQL's programs look up their working directory, and that user may
        // have no access to ours. The arguments are passed as such and not parsed by the shell.
        let result = try await Subprocess.run(
            .name("sh"), arguments: Arguments(["-c", "cd \"$0\" && exec \"$@\"", directory] + command),
            environment: environment, input: .string(input), output: .string(limit: 16 << 20),
            error: .combinedWithOutput)
        return Result(succeeded: result.terminationStatus.isSuccess, output: result.standardOutput)
    }
}
