import ArgumentParser
import Foundations
import Postgres

/// The reason why an admin command failed, with the exit code.
struct AdminFailure: Error, Equatable {
    /// The command failed or was refused.
    static let failed = ExitCode(1)

    /// An argument or setting is invalid.
    static let usage = ExitCode(2)

    /// The named object does not exist.
    static let notFound = ExitCode(3)

    let sentence: String
    let code: ExitCode

    init(_ sentence: String, _ code: ExitCode) {
        // The sentence may contain names of users.
        self.sentence = PlainText.line(sentence)
        self.code = code
    }

    /// - Parameter isDevWorld: true if the database belongs to `postline dev`.
    init(_ error: PostgresError, isDevWorld: Bool) {
        switch error {
        case .server(let error): self.init(error)
        case .connectFailed(let reason):
            let way =
                isDevWorld
                ? "Start `postline dev` in another terminal: the dev world's database runs as long as that does."
                : "See that PostgreSQL runs, and to POSTLINE_ADMIN_DATABASE_URL or POSTLINE_DATABASE_URL."
            // libpq's messages may end with a question mark.
            let end = reason.hasSuffix("?") || reason.hasSuffix(".") ? "" : "."
            self.init("The database cannot be reached: \(reason)\(end) \(way)", Self.failed)
        case .connectionLost(sent: true, _), .deadlineExceeded, .cancelled:
            self.init(
                "Nobody knows whether it was done: \(error). Look with `postline admin log`, and ask again.",
                Self.failed)
        case .connectionLost(sent: false, _), .unavailable, .shareExceeded, .refused:
            self.init("Nothing was done: \(error).", Self.failed)
        }
    }

    private init(_ error: ServerError) {
        switch error.sqlState {
        case .badArgument, .ambiguous: self.init(error.message, Self.usage)
        case .noSuchThing: self.init(error.message, Self.notFound)
        case .cannotBeDone: self.init(error.message, Self.failed)
        case .insufficientPrivilege:
            self.init(
                "The database refuses: \(error.message). Set POSTLINE_ADMIN_DATABASE_URL to the URL of the database's "
                    + "owner.", Self.failed)
        case .noSuchSchema, .noSuchFunction:
            self.init(
                "The database has not been migrated by this version: run `postline migrate` first.", Self.failed)
        default: self.init("The database refuses, and nothing was done: \(error)", Self.failed)
        }
    }
}

extension SQLState {
    // The SQLSTATEs of the schema `admin`: see sql/functions/admin/audit.sql.
    fileprivate static let badArgument = SQLState(rawValue: "PA001")
    fileprivate static let noSuchThing = SQLState(rawValue: "PA002")
    fileprivate static let ambiguous = SQLState(rawValue: "PA003")
    fileprivate static let cannotBeDone = SQLState(rawValue: "PA004")

    fileprivate static let noSuchSchema = SQLState(rawValue: "3F000")
    fileprivate static let noSuchFunction = SQLState(rawValue: "42883")
}
