internal import ArgumentParser

@main
struct Postline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postline",
        abstract: "A messaging backend that is one binary and one PostgreSQL.",
        version: version,
        subcommands: [
            Dev.self, Serve.self, Migrate.self, Token.self, DoctorCommand.self, Admin.self, ChatCommand.self,
        ])

    static let version = "0.1.0"

    static func main() async {
        ProcessCrash.endsAtOnce()
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let text = fullMessage(for: error)
            if CommandLine.arguments.dropFirst().first == Admin.configuration.commandName,
                exitCode(for: error) == .validationFailure
            {
                ProcessEnd.end(AdminFailure.usage.rawValue, saying: text)
            }
            // A flag that there is not would be a setting that its author believes in, as a key of a config file would.
            let unknown = message(for: error)
            if unknown.hasPrefix("Unknown option ") {
                let hint = unknown.contains("Did you mean") ? "" : ". `\(named) --help` lists those that there are."
                ProcessEnd.end(Failure.say(unknown + hint, Failure.configuration).rawValue)
            }
            ProcessEnd.end(exitCode(for: error).rawValue, saying: text)
        }
        ProcessEnd.end(0)
    }

    /// The command that was called, as it is written.
    private static var named: String {
        let names = configuration.subcommands.map { $0.configuration.commandName ?? "\($0)".lowercased() }
        let name = CommandLine.arguments.dropFirst().first { names.contains($0) }
        return ["postline", name].compactMap(\.self).joined(separator: " ")
    }
}
