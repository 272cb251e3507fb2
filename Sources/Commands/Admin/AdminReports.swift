import ArgumentParser
import Postgres

/// `postline admin reports`.
struct AdminReports: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reports",
        abstract: "List reports of messages and users, or show one with its evidence.",
        discussion: "Without --state it lists those that no moderator has closed, the oldest first.")

    @Argument(help: "The id of the report to show, as the list has it.")
    var report: String?

    @Option(help: "Only those of this state: open, in_review or closed.")
    var state: String?

    @Option(help: "How many at most, from 1 to 50.")
    var limit = 50

    @Option(help: "The position of the next page, as the last line of the page before says.")
    var after: String?

    @OptionGroup var options: AdminOptions

    func run() async throws {
        guard let report else {
            try await options.print(Self.reports, [state, "\(limit)", after], Self.table)
            return
        }
        try await options.print(Self.report, [report], Self.details)
    }

    private static func table(_ answer: AdminResult) -> [String] {
        let next = answer["next"]
        let rest = next.isNull ? [] : ["There are more: --after \(next.shown)."]
        return answer["reports"].table(
            [
                ("report", "id"), ("state", "state"), ("reason", "reason"), ("reported", "reported_id"),
                ("reporter", "reporter_id"), ("conversation", "conversation_id"), ("seq", "seq"),
                ("moderator", "moderator_id"), ("outcome", "outcome"), ("at", "created_at"),
            ], otherwise: "There is no such report.") + rest + ["Not closed: \(answer["pending"].shown)."]
    }

    private static func details(_ answer: AdminResult) -> [String] {
        let evidence = answer["evidence"]
        let messages = evidence["before"].elements + [evidence["message"]].filter { !$0.isNull }
        let said = messages.map { message in
            "\(message["created_at"].shown)  \(message["sender"].person): \(message["content"].shown)"
        }
        let shown =
            evidence.isNull
            ? ["The evidence was deleted."] : ["", "reported  \(evidence["reported"].person)"] + said
        return answer.lines([
            ("report", "id"), ("state", "state"), ("reason", "reason"), ("comment", "comment"),
            ("reported", "reported_id"), ("reporter", "reporter_id"), ("conversation", "conversation_id"),
            ("seq", "seq"), ("at", "created_at"), ("moderator", "moderator_id"), ("outcome", "outcome"),
            ("resolution", "resolution"), ("closed", "closed_at"),
        ]) + shown
    }

    private static let reports = Statement(
        "admin.reports", "select admin.reports($1::text, $2::integer, $3::text)")
    private static let report = Statement("admin.report", "select admin.report($1::text)")
}

/// `postline admin moderator`.
struct AdminModerator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "moderator",
        abstract: "Make a user a moderator, who reads and closes reports.",
        discussion: "A moderator may also remove messages, and ban users other than moderators.")

    @Argument(help: "An id, an email address or a username.")
    var user: String

    @Flag(help: "The user is no moderator any more.")
    var remove = false

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(Self.setModerator, [options.orderer, user, remove ? "f" : "t"]) { answer in
            [
                "\(answer["user"].person) is \(answer["is_moderator"].isTrue ? "a" : "no") moderator"
                    + "\(answer["is_moderator"].isTrue == answer["was_moderator"].isTrue ? ", as before" : "")."
            ]
        }
    }

    private static let setModerator = Statement(
        "admin.set_moderator", "select admin.set_moderator($1::text, $2::text, $3::boolean)")
}
