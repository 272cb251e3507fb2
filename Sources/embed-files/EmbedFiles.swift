#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Writes text files as one Swift source: `embed-files TYPE FOLDER OUTPUT PATH…`, the paths as they are in the folder. Each
/// becomes a value of the type, which is made of a path and a text.
@main
struct EmbedFiles {
    static func main() throws {
        let arguments = CommandLine.arguments
        let type = arguments[1]
        let folder = URL(filePath: arguments[2], directoryHint: .isDirectory)
        var source = """
            extension \(type) {
                /// The files that are part of the binary, by path.
                static let embedded: [\(type)] = [

            """
        for path in arguments.dropFirst(4) {
            let text = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
            // Enough number signs that nothing in the text ends the literal or is read as an escape.
            let signs = String(repeating: "#", count: longestRunOfSigns(in: text) + 1)
            source += "\(type)(path: \(signs)\"\(path)\"\(signs), text: \(signs)\"\"\"\n\(text)\n\"\"\"\(signs)),\n"
        }
        source += "    ]\n}\n"
        let output = URL(filePath: arguments[3])
        // What has not changed is not compiled again.
        if (try? String(contentsOf: output, encoding: .utf8)) == source { return }
        try source.write(to: output, atomically: true, encoding: .utf8)
    }

    private static func longestRunOfSigns(in text: String) -> Int {
        text.split(whereSeparator: { $0 != "#" }).map(\.count).max() ?? 0
    }
}
