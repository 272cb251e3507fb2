import ArgumentParser
import Postgres

/// `postline admin user`.
struct AdminUser: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user",
        abstract: "Find users by id, email address or username, or a part of the name.",
        discussion: "Addresses are shown shortened, unless with --full.")

    @Argument(help: "An id, an email address, a username, or a part of the name.")
    var query: String

    @Flag(help: "Show addresses in full.")
    var full = false

    @Option(help: "How many at most, from 1 to 1000.")
    var limit = 20

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(Self.users, [query, "\(limit)", full ? "t" : "f"]) { answer in
            let users = answer["users"].elements.map { $0.lines(Self.members) }
            let rest = answer["has_more"].isTrue ? [["There are more: say more of the name, or raise --limit."]] : []
            return Array((users + rest).joined(separator: [""]))
        }
    }

    private static let users = Statement("admin.users", "select admin.users($1::text, $2::integer, $3::boolean)")

    private static let members = [
        ("id", "id"), ("username", "username"), ("name", "full_name"), ("email", "email"),
        ("confirmed", "email_confirmed_at"), ("guest", "is_guest"), ("moderator", "is_moderator"),
        ("created", "created_at"), ("signed in", "last_sign_in_at"), ("disabled until", "disabled_until"),
        ("deleted", "deleted_at"), ("sessions", "sessions"), ("devices", "devices"), ("conversations", "conversations"),
    ]
}
