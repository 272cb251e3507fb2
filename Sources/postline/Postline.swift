internal import ArgumentParser

@main
struct Postline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postline",
        abstract: "A messaging backend that is one binary and one PostgreSQL.",
        version: version,
        subcommands: [Dev.self, Serve.self, Migrate.self, Token.self, Doctor.self, Chat.self, Bench.self])

    static let version = "0.1.0"
}
