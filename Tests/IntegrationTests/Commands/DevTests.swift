import Foundation
import Testing

@Suite("postline dev", .timeLimit(.minutes(60)))
struct DevTests {
    @Test("a directory that holds something else is refused, and left as it was; so are a database and an unknown flag")
    func refusals() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "dev-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let settings = "\(directory)/settings.json"
        try "mine".write(toFile: settings, atomically: true, encoding: .utf8)

        let foreign = try await Command.run(["dev", "--directory", directory])
        #expect(foreign.status == 78)
        #expect(foreign.errors.contains("postline: \(directory) is not empty and holds no dev world"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["settings.json"])
        #expect(try String(contentsOfFile: settings, encoding: .utf8) == "mine")

        let named = try await Command.run([
            "dev", "--directory", "\(directory)/new", "--database-url", "postgres://x/y",
        ])
        #expect(named.status == 78)
        #expect(named.errors.contains("does not use --database-url"))
        let unknown = try await Command.run(["dev", "--directory", "\(directory)/new", "--colour"])
        #expect(unknown.status == 78)
        #expect(
            unknown.errors
                == "postline: Unknown option '--colour'. `postline dev --help` lists those that there are.\n")
        #expect(!FileManager.default.fileExists(atPath: "\(directory)/new"))
    }
}
