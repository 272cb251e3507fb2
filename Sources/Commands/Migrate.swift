import ArgumentParser
import ChangeFeed
import Logging
import Postgres
import Schema

/// `postline migrate`.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Bring the database to the schema of this binary.",
        discussion: """
            Connects with --admin-database-url, as the owner, and makes the login role of --database-url where it is \
            missing. Safe to run from many places at once, and again.
            """)

    @OptionGroup var options: SettingOptions

    func run() async throws {
        try await CommandFailure.reported {
            let settings = try Settings(options)
            let logger = Logger.postline(settings.logLevel)
            settings.logUnknownVariables(to: logger)
            let applied = try await settings.migrate(logger: logger)
            let names = applied.map(\.description).joined(separator: ", ")
            print(applied.isEmpty ? "The database is up to date." : "Applied: \(names).")
        }
    }
}

extension Settings {
    /// Migrates as the owner, and returns the applied files.
    func migrate(logger: Logger) async throws -> [AppliedFiles] {
        let url = try requireDatabaseURL()
        do {
            return try await Migrator(url: adminDatabaseURL ?? url, logger: logger)
                .migrate(loginRole: try Migrator.LoginRole(of: url, owner: adminDatabaseURL))
        } catch let error as MigrationError {
            guard case .obstructed = error, adminDatabaseURL == nil else { throw error }
            throw SettingsError(
                "\(error) It was tried as the role of \(name(of: "database_url")): set POSTLINE_ADMIN_DATABASE_URL to the "
                    + "URL of the database's owner, if that is another.")
        } catch PostgresError.server(let error) where error.sqlState == .insufficientPrivilege {
            let way =
                adminDatabaseURL == nil
                ? "Set POSTLINE_ADMIN_DATABASE_URL to the URL of the database's owner."
                : "POSTLINE_ADMIN_DATABASE_URL must be the URL of the database's owner."
            throw SettingsError("The database refuses to be migrated: \(error.message). \(way)")
        }
    }
}
