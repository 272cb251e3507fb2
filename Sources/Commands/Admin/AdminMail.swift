import ArgumentParser
import Postgres

/// `postline admin mail`.
struct AdminMail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail",
        abstract: "List mails that wait, and those that were given up.",
        discussion: "Addresses are shown shortened, unless with --full.")

    @Flag(help: "Show addresses in full.")
    var full = false

    @Option(help: "How many at most, from 1 to 1000; the oldest.")
    var limit = 100

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(Self.mails, ["\(limit)", full ? "t" : "f"]) { answer in
            answer["mails"].table(
                [
                    ("mail", "id"), ("kind", "kind"), ("to", "email"), ("state", "state"), ("written", "created_at"),
                    ("attempts", "attempts"), ("due", "due_at"), ("last error", "last_error"),
                ], otherwise: "No mail waits, and none was given up.") + answer.rest(of: "mails")
        }
    }

    private static let mails = Statement("admin.mails", "select admin.mails($1::integer, $2::boolean)")
}

/// `postline admin retry-mail`.
struct AdminRetryMail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry-mail", abstract: "Try a mail again at once, also one that was given up.")

    @Argument(help: "The mail's id, as `postline admin mail` lists it.")
    var mail: String?

    @Flag(help: "Try all again.")
    var all = false

    @OptionGroup var options: AdminOptions

    func validate() throws {
        if (mail == nil) != all { throw ValidationError("Say which: the id of a mail, or --all.") }
    }

    func run() async throws {
        try await options.print(Self.retry, [options.orderer, mail]) { ["Mails tried again: \($0["retried"].shown)."] }
    }

    private static let retry = Statement("admin.retry_mails", "select admin.retry_mails($1::text, $2::text)")
}

extension AdminResult {
    /// Returns a line that says how many elements a truncated list omits.
    func rest(of list: String) -> [String] {
        let shown = self[list].elements.count
        return self["total"].count > shown ? ["\(shown) of \(self["total"].shown): raise --limit to see more."] : []
    }
}
