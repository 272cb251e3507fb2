import ArgumentParser
import Gateway
import LineServer
import Logging
import ServiceLifecycle

/// `postline serve`.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve the line protocol and HTTP from an existing database.",
        discussion: "Waits for the database with back-off. Exits with 78 if the database is not migrated.")

    @OptionGroup var options: SettingOptions

    @Flag(help: "Migrate the database first.")
    var migrate = false

    func run() async throws {
        try await CommandFailure.reported {
            let settings = try Settings(options)
            let node = try await Node(settings)
            try await node.observed { [migrate] _ in
                try await node.awaitDatabase(migrating: migrate)
                try await node.serve(console: settings.hasConsole ? Console(demoAccounts: []) : nil) { _, _ in }
            }
        }
    }
}
