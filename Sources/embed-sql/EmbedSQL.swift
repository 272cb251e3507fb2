#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Writes SQL files as one Swift source: `embed-sql FOLDER OUTPUT PATH…`, the paths as they are in the folder.
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
        for path in arguments.dropFirst(3) {
            let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
            // Enough number signs that nothing in the text ends the literal or is read as an escape.
            let signs = String(repeating: "#", count: longestRunOfSigns(in: text) + 1)
            source += "SQLFile(path: \(signs)\"\(path)\"\(signs), text: \(signs)\"\"\"\n\(text)\n\"\"\"\(signs)),\n"
        }
        source += "    ]\n}\n"
        try source.write(to: URL(filePath: arguments[2]), atomically: true, encoding: .utf8)
    }

    private static func longestRunOfSigns(in text: String) -> Int {
        text.split(whereSeparator: { $0 != "#" }).map(\.count).max() ?? 0
    }
}
