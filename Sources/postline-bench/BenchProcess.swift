import Subprocess

/// A program that runs during a measurement.
enum BenchProcess {
    /// Runs `body` while the program runs, then stops the program.
    ///
    /// - Returns: true if the program exited successfully.
    /// - Throws: the error of `body`.
    @discardableResult
    static func run(
        _ program: String, _ arguments: [String], environment: Environment = .inherit, _ body: () async throws -> Void
    ) async throws -> Bool {
        var options = PlatformOptions()
        // Ctrl-C ends the bench, and so the program: the shell stops it when its own input ends, which happens however
        // this process ends.
        options.createSession = true
        let script = """
            "$0" "$@" & program=$!; cat >/dev/null; kill -TERM $program
            (sleep 15; kill -KILL $program) 2>/dev/null & wait $program; status=$?; kill $!; exit $status
            """
        let result = try await Subprocess.run(
            .name("sh"), arguments: Arguments(["-c", script, program] + arguments), environment: environment,
            platformOptions: options, input: .inputWriter, output: .discarded, error: .currentStandardError
        ) { shell -> (any Error)? in
            // Thrown only after the program has ended: a closure that throws has its process killed, and the shell
            // would die before it stops the program.
            var failure: (any Error)?
            do { try await body() } catch { failure = error }
            try await shell.standardInputWriter.finish()
            return failure
        }
        if let failure = result.closureResult { throw failure }
        return result.terminationStatus.isSuccess
    }
}
