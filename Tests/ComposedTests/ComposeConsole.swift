import BoundedWait
import NIOPosix

/// The interface to scripts/test-compose, which stops and starts services for the tests.
///
/// A container cannot do that itself without control over the machine. So a line on standard output requests a `docker
/// compose` command, and a line on standard input reports its completion.
struct ComposeConsole: Sendable {
    func run(_ command: String) async throws {
        say("compose: \(command)")
        let answer = try await within("docker compose \(command)") {
            try await NIOThreadPool.singleton.runIfActive { readLine() }
        }
        try expect(answer == "done", "docker compose \(command): \(answer ?? "nobody answered")")
    }
}
