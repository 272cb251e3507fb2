import ArgumentParser
import Postgres

/// `postline admin log`.
struct AdminLog: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log", abstract: "Show what operators did, the newest first.")

    @Option(help: "Only entries of this user: an id, an email address or a username. A deleted user is found by id.")
    var user: String?

    @Option(help: "How many at most, from 1 to 1000.")
    var limit = 50

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(Self.log, [user, "\(limit)"]) { answer in
            answer["orders"].table(
                [
                    ("at", "at"), ("operator", "operator"), ("role", "database_role"), ("action", "action"),
                    ("user", "user_id"), ("detail", "detail"),
                ], otherwise: "No operator did anything yet.") + answer.rest(of: "orders")
        }
    }

    private static let log = Statement("admin.log", "select admin.log($1::text, $2::integer)")
}
