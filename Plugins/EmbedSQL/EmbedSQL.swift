import Foundation
import PackagePlugin

/// Makes the SQL files part of the binary, so that one file is all that is deployed.
@main
struct EmbedSQL: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.package.directoryURL.appending(path: "sql")
        let paths = FileManager.default.enumerator(atPath: folder.path())?.compactMap { $0 as? String } ?? []
        // The tests and the dumped schema are not applied to databases.
        let files = paths.filter { $0.hasSuffix(".sql") && !$0.hasPrefix("tests/") && $0 != "schema.sql" }.sorted()
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedSQL.swift")
        return [
            .buildCommand(
                displayName: "Embedding sql/",
                executable: try context.tool(named: "embed-sql").url,
                arguments: [folder.path(), output.path()] + files,
                inputFiles: files.map { folder.appending(path: $0) },
                outputFiles: [output])
        ]
    }
}
