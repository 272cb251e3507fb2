import ArgumentParser
import Postgres

/// `postline admin sessions`.
struct AdminSessions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List a user's sessions.")

    @Argument(help: "An id, an email address or a username.")
    var user: String

    @Flag(help: "Those that ended too, for a week.")
    var ended = false

    @Option(help: "How many at most, from 1 to 1000.")
    var limit = 100

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(
            Self.sessions, [user, ended ? "t" : "f", "\(limit)"], ownAccounts: "Sessions cannot be listed"
        ) { answer in
            answer["sessions"].table(
                [
                    ("session", "id"), ("opened", "created_at"), ("refreshed", "refreshed_at"), ("ended", "ended_at"),
                    ("devices", "devices"),
                ], otherwise: "\(answer["user"].person) is signed in nowhere.")
        }
    }

    private static let sessions = Statement(
        "admin.sessions", "select admin.sessions($1::text, $2::boolean, $3::integer)")
}

/// `postline admin end-sessions`.
struct AdminEndSessions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end-sessions",
        abstract: "End all sessions of a user, or one.",
        discussion: "Connections end on every node, and tokens are of no use any more. The user may sign in again.")

    @Argument(help: "An id, an email address or a username.")
    var user: String

    @Option(help: "The id of the one session to end, as `postline admin sessions` lists it.")
    var session: String?

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(
            Self.endSessions, [options.orderer, user, session], ownAccounts: "Sessions cannot be ended"
        ) { answer in
            ["\(answer["user"].person): sessions ended: \(answer["ended_sessions"].shown)."]
        }
    }

    private static let endSessions = Statement(
        "admin.end_sessions", "select admin.end_sessions($1::text, $2::text, $3::text)")
}
