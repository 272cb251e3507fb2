import BoundedWait
import NIOPosix

/// Whoever started this program, asked to stop and start services: scripts/test-compose.
///
/// A container cannot do that to others without rights over all of the machine. So a line on standard output asks for a
/// `docker compose` command, and a line on standard input says that it is done.
struct ComposeConsole: Sendable {
    func run(_ command: String) async throws {
        say("compose: \(command)")
        let answer = try await within("docker compose \(command)") {
            try await NIOThreadPool.singleton.runIfActive { readLine() }
        }
        try expect(answer == "done", "docker compose \(command): \(answer ?? "nobody answered")")
    }
}
