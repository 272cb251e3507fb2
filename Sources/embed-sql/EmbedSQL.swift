import Foundation

/// Writes the SQL files that are applied to databases, or asked of them, as one Swift source: `embed-sql FOLDER OUTPUT`.
@main
struct EmbedSQL {
    static func main() throws {
        let arguments = CommandLine.arguments
        let folder = URL(filePath: arguments[1], directoryHint: .isDirectory)
        var source = """
            extension SQLFile {
                /// The files of `sql/`, by path.
                static let embedded: [SQLFile] = [

            """
        for path in try paths(in: folder) {
            let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
            // Enough number signs that nothing in the text ends the literal or is read as an escape.
            let signs = String(repeating: "#", count: longestRunOfSigns(in: text) + 1)
            source += "SQLFile(path: \(signs)\"\(path)\"\(signs), text: \(signs)\"\"\"\n\(text)\n\"\"\"\(signs)),\n"
        }
        source += "    ]\n}\n"
        try source.write(to: URL(filePath: arguments[2]), atomically: true, encoding: .utf8)
    }

    /// By their paths in the folder, in order; the tests and the dumped schema are for developers.
    private static func paths(in folder: URL) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path())
            .filter { $0.hasSuffix(".sql") && !$0.hasPrefix("tests/") && $0 != "schema.sql" }
            .sorted()
    }

    private static func longestRunOfSigns(in text: String) -> Int {
        text.split(whereSeparator: { $0 != "#" }).map(\.count).max() ?? 0
    }
}
