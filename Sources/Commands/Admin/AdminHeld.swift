import ArgumentParser
import Postgres

/// `postline admin held`.
struct AdminHeld: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "held",
        abstract: "List, release or reject the messages that the filter holds.",
        discussion: "A released message is shown and pushed to all members; a rejected one is deleted.",
        subcommands: [List.self, Release.self, Reject.self], defaultSubcommand: List.self)

    /// `postline admin held list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the held messages, the oldest first.")

        @Option(help: "How many at most, from 1 to 50.")
        var limit = 50

        @Option(help: "The position of the next page, as the last line of the page before says.")
        var after: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            try await options.print(Self.list, ["\(limit)", after]) { answer in
                let lines = answer["held"].elements.flatMap { held in
                    let message = held["message"]
                    return [
                        "\(message["conversation_id"].shown) \(message["seq"].shown)  \(held["held_at"].shown)"
                            + "  \(message["sender"].person)  \(held["words"].shown)",
                        "    \(message["content"].shown)",
                    ]
                }
                let next = answer["next"]
                return (lines.isEmpty ? ["No message is held."] : lines)
                    + (next.isNull ? [] : ["There are more: --after \(next.shown)."])
                    + ["Held: \(answer["pending"].shown)."]
            }
        }

        private static let list = Statement(
            "admin.held_messages", "select admin.held_messages($1::integer, $2::text)")
    }

    /// The place of a message.
    struct Place: ParsableArguments {
        @Argument(help: "The id of the conversation, as the list has it.")
        var conversation: String

        @Argument(help: "The number of the message.")
        var seq: Int

        @OptionGroup var options: AdminOptions

        fileprivate func decide(isReleased: Bool) async throws {
            try await options.print(
                Self.decide, [options.orderer, conversation, "\(seq)", isReleased ? "t" : "f"]
            ) { answer in
                ["The message of \(answer["sender"].person) is \(isReleased ? "released" : "rejected")."]
            }
        }

        private static let decide = Statement(
            "admin.decide_held", "select admin.decide_held($1::text, $2::text, $3::bigint, $4::boolean)")
    }

    /// `postline admin held release`.
    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "release", abstract: "Show a held message to all members.")

        @OptionGroup var place: Place

        func run() async throws { try await place.decide(isReleased: true) }
    }

    /// `postline admin held reject`.
    struct Reject: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "reject", abstract: "Delete a held message.")

        @OptionGroup var place: Place

        func run() async throws { try await place.decide(isReleased: false) }
    }
}
