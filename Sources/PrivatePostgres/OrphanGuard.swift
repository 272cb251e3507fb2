import Subprocess

/// Stops the server when this process ends in any way: a shell that waits for the end of its input, which this process
/// holds open, and then signals the server.
struct OrphanGuard: Sendable {
    /// Cancelled when the server has stopped, since the shell then has nothing left to do.
    let task: Task<Void, Never>
    /// Finished if the server's owner is released without stopping it.
    let latch: AsyncStream<Never>.Continuation

    init(of server: Postmaster, as user: ServerUser?) {
        let (stream, latch) = AsyncStream.makeStream(of: Never.self)
        self.latch = latch
        // An unstructured task, ended by its owner through either of the two properties. It touches nothing but its
        // child process.
        task = Task {
            var options = PlatformOptions()
            // Ctrl-C in the terminal must not reach the shell: it has to outlive this process.
            options.createSession = true
            let shell = ["-c", "cd / && cat >/dev/null; kill -INT \"$0\"", String(server.processID)]
            let command = user?.command("sh", shell) ?? ["sh"] + shell
            _ = try? await Subprocess.run(
                .name(command[0]), arguments: Arguments(Array(command.dropFirst())), environment: Tool.environment,
                platformOptions: options, input: .inputWriter, output: .discarded, error: .discarded
            ) { _ in
                // The shell's input stays open for as long as this closure lasts.
                for await _ in stream {}
            }
        }
    }
}
