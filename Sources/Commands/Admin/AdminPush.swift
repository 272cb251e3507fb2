import ArgumentParser
import Postgres

/// `postline admin push`.
struct AdminPush: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "List pushes that wait, with how often they were tried.",
        discussion: "One is what a device is to be told of a conversation. Devices' tokens are not shown.")

    @Option(help: "How many at most, from 1 to 1000; the oldest.")
    var limit = 100

    @OptionGroup var options: AdminOptions

    func run() async throws {
        try await options.print(Self.pushes, ["\(limit)"]) { answer in
            answer["pushes"].table(
                [
                    ("device", "device_id"), ("platform", "platform"), ("user", "user_id"), ("username", "username"),
                    ("conversation", "conversation_id"), ("seq", "seq"), ("attempts", "attempts"),
                    ("noted", "noted_at"), ("due", "due_at"),
                ], otherwise: "No push waits.") + answer.rest(of: "pushes")
        }
    }

    private static let pushes = Statement("admin.pushes", "select admin.pushes($1::integer)")
}

/// `postline admin retry-push`.
struct AdminRetryPush: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry-push",
        abstract: "Try at once what waits for a device.",
        discussion: "A push that is being sent at this moment may reach its device twice.")

    @Argument(help: "The device's id, as `postline admin push` lists it.")
    var device: String?

    @Flag(help: "Of all devices.")
    var all = false

    @OptionGroup var options: AdminOptions

    func validate() throws {
        if (device == nil) != all { throw ValidationError("Say whose: the id of a device, or --all.") }
    }

    func run() async throws {
        try await options.print(Self.retry, [options.orderer, device]) {
            ["Pushes tried again: \($0["retried"].shown)."]
        }
    }

    private static let retry = Statement("admin.retry_pushes", "select admin.retry_pushes($1::text, $2::text)")
}
