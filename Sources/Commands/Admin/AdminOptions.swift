import Accounts
import ArgumentParser
import ChangeFeed
import FoundationEssentials
import Postgres
import SystemPackage

/// The options of all `postline admin` commands.
struct AdminOptions: ParsableArguments {
    @Flag(help: "Print one JSON value.")
    var json = false

    @Option(name: .customLong("as"), help: "The operator's name for the audit log. Default: the system user.")
    var operatorName: String?

    @Option(
        help: "Where a dev world is kept, such as .postline: its database is used, and no setting is read.",
        completion: .directory)
    var directory: String?

    @Option(help: "A JSON file of settings; the environment variable is POSTLINE_CONFIG.", completion: .file())
    var config: String?

    @Option(parsing: .unconditional, help: "The database, as its owner; POSTLINE_ADMIN_DATABASE_URL.")
    var adminDatabaseURL: String?

    @Option(
        parsing: .unconditional,
        help: "Who keeps the accounts: builtin, or external for another server; POSTLINE_AUTH.")
    var auth: String?

    func validate() throws {
        if directory != nil, [config, adminDatabaseURL, auth].contains(where: { $0 != nil }) {
            throw ValidationError("--directory names a dev world, which has its own settings: leave the others out.")
        }
        if operatorName?.isEmpty == true { throw ValidationError("--as must not be empty.") }
    }

    /// The operator's name, for the audit log.
    var orderer: String { operatorName ?? ProcessInfo.processInfo.userName }
}

extension AdminOptions {
    /// Calls a function as the database's owner, and prints its result.
    ///
    /// - Parameters:
    ///   - function: a function of the schema `admin`, which returns JSON.
    ///   - parameters: its parameters.
    ///   - ownAccounts: what is impossible if another server manages the accounts, as the start of a sentence; nil if
    ///     the command always works.
    ///   - lines: formats the result as lines for a person.
    /// - Throws: `ExitCode`, after printing the reason.
    func print(
        _ function: Statement, _ parameters: [String?], ownAccounts: String? = nil, _ lines: (AdminResult) -> [String]
    ) async throws {
        do {
            let place = try place()
            if let ownAccounts, place.isExternal {
                throw AdminFailure(
                    "\(ownAccounts), as another server keeps the accounts (POSTLINE_AUTH=external): do it there.",
                    AdminFailure.failed)
            }
            let text = try await place.call(function, parameters)
            let output = json ? text : try lines(AdminResult(text)).joined(separator: "\n")
            // If the reader has gone (`| head`), the exit code is all that it needs.
            _ = try? FileDescriptor.standardOutput.writeAll((output + "\n").utf8)
        } catch let failure as AdminFailure {
            throw CommandFailure.say(failure.sentence, failure.code)
        } catch let error as SettingsError {
            throw CommandFailure.say(error.description, AdminFailure.usage)
        }
    }

    /// Returns the database that the options name.
    private func place() throws -> AdminDatabase {
        if let directory {
            // Environment variables must not lead to another database.
            let file = try ConfigFile(devWorld: directory)
            guard let url = file.values["admin_database_url"] else {
                throw SettingsError("\(file.path) names no database: start `postline dev` once, which writes it anew.")
            }
            return AdminDatabase(url: url, isExternal: false, isDevWorld: true)
        }
        let settings = try Settings(SettingOptions(config: config, given: given))
        guard let url = settings.adminDatabaseURL ?? settings.databaseURL else {
            throw SettingsError(
                "No database: set POSTLINE_ADMIN_DATABASE_URL to the URL of its owner, or say --directory .postline for "
                    + "that of `postline dev`.")
        }
        return AdminDatabase(url: url, isExternal: settings.accountProvider == .external, isDevWorld: false)
    }

    /// The settings given as flags.
    private var given: [String: String] {
        var given: [String: String] = [:]
        given["admin_database_url"] = adminDatabaseURL
        given["auth"] = auth
        return given
    }
}
