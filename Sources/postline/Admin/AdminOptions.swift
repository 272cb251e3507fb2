internal import ArgumentParser
internal import FoundationEssentials
internal import Messaging
internal import Postgres
internal import SystemPackage

/// What all commands of `postline admin` take.
struct AdminOptions: ParsableArguments {
    @Flag(help: "Print one JSON value.")
    var json = false

    @Option(name: .customLong("as"), help: "Who gives the order, for the audit. Default: the user of this system.")
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

    /// Who gives the order.
    var orderer: String { operatorName ?? ProcessInfo.processInfo.userName }
}

extension AdminOptions {
    /// Calls the function as the database's owner, and prints what it answers.
    ///
    /// - Parameters:
    ///   - function: One of the schema `admin`, which answers JSON.
    ///   - parameters: Its parameters.
    ///   - ownAccounts: What it is that cannot be done where another server keeps the accounts, as a sentence goes on
    ///     that begins with it; nil where it can be.
    ///   - lines: What a person is told, a line each.
    /// - Throws: `ExitCode`, after saying why.
    func print(
        _ function: Statement, _ parameters: [String?], ownAccounts: String? = nil, _ lines: (AdminAnswer) -> [String]
    ) async throws {
        do {
            let place = try place()
            if let ownAccounts, place.isExternal {
                throw AdminFailure(
                    "\(ownAccounts), as another server keeps the accounts (POSTLINE_AUTH=external): do it there.",
                    AdminFailure.failed)
            }
            let text = try await place.call(function, parameters)
            let output = json ? text : try lines(AdminAnswer(text)).joined(separator: "\n")
            // Who reads no more (`| head`) has the exit code.
            _ = try? FileDescriptor.standardOutput.writeAll((output + "\n").utf8)
        } catch let failure as AdminFailure {
            throw Failure.say(failure.sentence, failure.code)
        } catch let error as SettingsError {
            throw Failure.say(error.description, AdminFailure.usage)
        }
    }

    /// Where the database is.
    private func place() throws -> AdminDatabase {
        if let directory {
            // No variable of the environment leads to another database.
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

    /// The flags that are settings.
    private var given: [String: String] {
        var given: [String: String] = [:]
        given["admin_database_url"] = adminDatabaseURL
        given["auth"] = auth
        return given
    }
}
