import Foundation
import PackagePlugin

/// Makes the SQL files part of the binary, so that one file is all that is deployed.
@main
struct EmbedSQL: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.package.directoryURL.appending(path: "sql")
        // The tests and the dumped schema are for developers. Functions are applied in this order.
        let parts = [
            "bootstrap", "migrations", "functions/app", "functions/api", "functions/accounts", "functions/feed",
            "doctor",
        ]
        let files =
            parts.flatMap { part in
                let names =
                    (try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: part).path())) ?? []
                return names.filter { $0.hasSuffix(".sql") }.sorted().map { "\(part)/\($0)" }
            } + ["policies.sql", "seed.sql"]
        // The folders are inputs too: what is here asked for once, a build asks of them again, and sees new files.
        let inputs = parts + files
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedSQL.swift")
        return [
            .buildCommand(
                displayName: "Embedding sql/",
                executable: try context.tool(named: "embed-sql").url,
                arguments: [folder.path(), output.path()] + files,
                inputFiles: inputs.map { folder.appending(path: $0) },
                outputFiles: [output])
        ]
    }
}
