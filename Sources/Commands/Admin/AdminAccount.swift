import ArgumentParser
import Postgres

/// `postline admin disable`.
struct AdminDisable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Keep a user out, until a time or for good.",
        discussion: """
            Ends the user's sessions on every node, and refuses sign-in and refresh. What the user has written stays. \
            Of one that is disabled already the time is changed.
            """)

    @Argument(help: "An id, an email address or a username.")
    var user: String

    @Option(help: "A time (2026-12-01T08:00:00Z), a day (2026-12-01), or so long from now (30m, 12h, 7d).")
    var until: String?

    @Option(help: "Why, for the audit.")
    var reason: String?

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(
            Self.disable, [options.orderer, user, until, reason], ownAccounts: "A user cannot be disabled here"
        ) { answer in
            let until = answer["user"]["disabled_until"].shown
            return [
                "\(answer["user"].person) is disabled \(until == "for good" ? until : "until \(until)"); "
                    + "sessions ended: \(answer["ended_sessions"].shown)."
            ]
        }
    }

    private static let disable = Statement(
        "admin.disable", "select admin.disable($1::text, $2::text, $3::text, $4::text)")
}

/// `postline admin enable`.
struct AdminEnable: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Let a disabled user sign in again.",
        discussion: "Sessions that were ended stay so: the user signs in anew.")

    @Argument(help: "An id, an email address or a username.")
    var user: String

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(
            Self.enable, [options.orderer, user], ownAccounts: "A user cannot be enabled here"
        ) { answer in
            ["\(answer["user"].person) \(answer["was_disabled"].isTrue ? "may sign in again" : "was not disabled")."]
        }
    }

    private static let enable = Statement("admin.enable", "select admin.enable($1::text, $2::text)")
}

/// `postline admin delete`.
struct AdminDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a user, as the user's own me.delete does.",
        discussion: """
            Erases what is the user's, and leaves a tombstone under which the messages stay. It cannot be undone. Where \
            another server keeps the accounts, its row is marked as deleted too (deleted_at).
            """)

    @Argument(help: "An id, an email address or a username.")
    var user: String

    @Flag(help: "Say so: it cannot be undone.")
    var yes = false

    @Option(help: "Why, for the audit.")
    var reason: String?

    @OptionGroup var options: AdminOptions

    func validate() throws {
        if !yes { throw ValidationError("A deletion cannot be undone: say --yes. Nothing was done.") }
    }

    func run() async throws {
        try await options.print(Self.delete, [options.orderer, user, reason]) { answer in
            [
                "\(answer["user"]["id"].shown) is deleted; sessions ended: \(answer["ended_sessions"].shown)."
            ]
        }
    }

    private static let delete = Statement(
        "admin.delete_user", "select admin.delete_user($1::text, $2::text, $3::text)")
}
