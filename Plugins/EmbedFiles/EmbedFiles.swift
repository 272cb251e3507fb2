import Foundation
import PackagePlugin

/// Makes text files part of the binary, so that one file is all that is deployed: of `Schema` the SQL, of `Gateway` the
/// console's page with the JavaScript package, to which `client` is a link.
@main
struct EmbedFiles: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let package = context.package.directoryURL
        let (type, folder, parts, others): (String, URL, [String], [String]) =
            if target.name == "Gateway" {
                ("ConsoleFile", package.appending(path: "Sources/Gateway/Console"), [".", "client"], [])
            } else {
                // The tests and the dumped schema are for developers. Functions are applied in this order.
                (
                    "SQLFile", package.appending(path: "sql"),
                    [
                        "bootstrap", "migrations", "functions/app", "functions/api", "functions/accounts",
                        "functions/feed", "functions/admin", "doctor",
                    ], ["policies.sql", "seed.sql"]
                )
            }
        let endings = [".sql", ".html", ".css", ".js", ".svg"]
        let files =
            parts.flatMap { part in
                let names =
                    (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: part).path())) ?? []
                return names.filter { name in endings.contains { name.hasSuffix($0) } }.sorted().map {
                    part == "." ? $0 : "\(part)/\($0)"
                }
            } + others
        // The folders are inputs too: what is here asked for once, a build asks of them again, and sees new files.
        let inputs = parts + files
        let output = context.pluginWorkDirectoryURL.appending(path: "Embedded\(type)s.swift")
        return [
            .buildCommand(
                displayName: "Embedding \(folder.lastPathComponent)/",
                executable: try context.tool(named: "embed-files").url,
                arguments: [type, folder.path(), output.path()] + files,
                inputFiles: inputs.map { folder.appending(path: $0) },
                outputFiles: [output])
        ]
    }
}
