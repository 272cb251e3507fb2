import Subprocess

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs a program to its end and gives what it said.
enum Tool {
    struct Result: Sendable {
        let succeeded: Bool
        /// Standard output and standard error, together, in the order they were written.
        let output: String
    }

    /// The environment of every program: ours, without what would point PostgreSQL's programs elsewhere.
    static var environment: Environment {
        var changes: [Environment.Key: String?] = [:]
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix("PG") {
            changes.updateValue(nil, forKey: Environment.Key(stringLiteral: name))
        }
        // Messages in English, and on macOS a locale that `postgres` needs to start at all.
        changes.updateValue("C", forKey: "LC_ALL")
        return .inherit.updating(changes)
    }

    /// Runs a program, by its path or a name in `PATH`, as `user` (nil: as ourselves).
    ///
    /// - Parameter directory: where it runs.
    static func run(
        _ program: String, _ arguments: [String], as user: ServerUser? = nil, in directory: String = "/",
        input: String = ""
    ) async throws -> Result {
        let command = user?.command(program, arguments) ?? [program] + arguments
        // Through a shell that changes the directory first: PostgreSQL's programs look up their working directory, and
        // that user may not be allowed into ours. The words reach it as arguments and are not read as a script.
        let result = try await Subprocess.run(
            .name("sh"), arguments: Arguments(["-c", "cd \"$0\" && exec \"$@\"", directory] + command),
            environment: environment, input: .string(input), output: .string(limit: 16 << 20),
            error: .combinedWithOutput)
        return Result(succeeded: result.terminationStatus.isSuccess, output: result.standardOutput)
    }
}
