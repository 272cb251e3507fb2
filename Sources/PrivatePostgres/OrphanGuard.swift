import Subprocess

/// Sees to it that a server does not outlive this process: a shell that waits for the end of its input, which is the
/// end of this process, however it came, and then tells the server to stop.
struct OrphanGuard: Sendable {
    /// Cancelled when the server is gone: the shell then has nothing left to do.
    let task: Task<Void, Never>
    /// Finished when the server's owner goes without having stopped it.
    let latch: AsyncStream<Never>.Continuation

    init(of server: Postmaster, as user: ServerUser?) {
        let (stream, latch) = AsyncStream.makeStream(of: Never.self)
        self.latch = latch
        // Owned by the server's owner, who ends it by either of the two members above; it touches nothing but its child.
        task = Task {
            var options = PlatformOptions()
            // A Ctrl-C in the terminal is for us, not for the orphanGuard: it must live to see us end.
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
