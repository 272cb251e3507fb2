internal import Subprocess

/// A program that runs beside the measurement, and ends with it.
enum BenchProcess {
    /// Runs `body` while the program runs; then the program is told to stop.
    ///
    /// - Returns: Whether it ended well.
    /// - Throws: what `body` throws.
    @discardableResult
    static func run(
        _ program: String, _ arguments: [String], environment: Environment = .inherit, _ body: () async throws -> Void
    ) async throws -> Bool {
        var options = PlatformOptions()
        // A Ctrl-C ends the bench, and that ends the program: the shell tells it to stop when its own input ends, which
        // it does with this process, however that goes.
        options.createSession = true
        let script = """
            "$0" "$@" & program=$!; cat >/dev/null; kill -TERM $program
            (sleep 15; kill -KILL $program) 2>/dev/null & wait $program; status=$?; kill $!; exit $status
            """
        let result = try await Subprocess.run(
            .name("sh"), arguments: Arguments(["-c", script, program] + arguments), environment: environment,
            platformOptions: options, input: .inputWriter, output: .discarded, error: .currentStandardError
        ) { shell -> (any Error)? in
            // Thrown only when the program has ended: a closure that throws has its process killed, the shell before
            // the program that it is to stop.
            var failure: (any Error)?
            do { try await body() } catch { failure = error }
            try await shell.standardInputWriter.finish()
            return failure
        }
        if let failure = result.closureResult { throw failure }
        return result.terminationStatus.isSuccess
    }
}
