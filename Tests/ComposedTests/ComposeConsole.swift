import BoundedWait
import NIOPosix

/// The script that started this program (`scripts/test-compose`), which stops and starts services for it.
///
/// A container cannot do that without control over the machine. So a line on standard output requests a `docker
/// compose` command, and a line on standard input reports that it is done.
struct ComposeConsole: Sendable {
    func run(_ command: String) async throws {
        printLine("compose: \(command)")
        let answer = try await within("docker compose \(command)") {
            try await NIOThreadPool.singleton.runIfActive { readLine() }
        }
        try expect(answer == "done", "docker compose \(command): \(answer ?? "nobody answered")")
    }
}
