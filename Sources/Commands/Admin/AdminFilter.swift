import ArgumentParser
import Postgres

/// `postline admin filter`.
struct AdminFilter: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "filter",
        abstract: "Manage the words that messages, names and titles may not have.",
        discussion: "Case and accents do not matter. A new rule takes effect at once, for what is written after it.",
        subcommands: [Add.self, Remove.self, List.self])

    /// `postline admin filter add`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add a word, or change its action.")

        @Argument(help: "One word of 2 to 50 letters; * with --action hold holds every message.")
        var word: String

        @Option(help: "Only in messages, names (with bios and usernames) or titles (of groups).")
        var scope: String?

        @Option(
            help: """
                What happens: refuse gives an error, mask puts asterisks in its place, hold keeps a message from \
                others until a moderator has seen it.
                """)
        var action = "refuse"

        @OptionGroup var options: AdminOptions

        func run() async throws {
            try await options.print(Self.add, [options.orderer, word, scope, action]) {
                ["“\($0["word"].shown)”: \($0["action"].shown) in \($0["scopes"].shown)."]
            }
        }

        private static let add = Statement(
            "admin.add_filter_rule", "select admin.add_filter_rule($1::text, $2::text, $3::text, $4::text)")
    }

    /// `postline admin filter remove`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a word.")

        @Argument(help: "The word.")
        var word: String

        @Option(help: "Only from messages, names or titles.")
        var scope: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            try await options.print(Self.remove, [options.orderer, word, scope]) {
                ["“\($0["word"].shown)” is removed; rules: \($0["removed"].shown)."]
            }
        }

        private static let remove = Statement(
            "admin.remove_filter_rule", "select admin.remove_filter_rule($1::text, $2::text, $3::text)")
    }

    /// `postline admin filter list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the words.")

        @Option(help: "How many at most, from 1 to 1000.")
        var limit = 1_000

        @OptionGroup var options: AdminOptions

        func run() async throws {
            try await options.print(Self.list, ["\(limit)"]) { answer in
                answer["rules"].table(
                    [("word", "word"), ("scope", "scope"), ("action", "action"), ("since", "created_at")],
                    otherwise: "The filter has no words.") + answer.rest(of: "rules")
            }
        }

        private static let list = Statement("admin.filter_rules", "select admin.filter_rules($1::integer)")
    }
}
