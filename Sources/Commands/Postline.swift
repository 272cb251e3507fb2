import ArgumentParser
import Messaging

@main
struct Postline: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "postline",
        abstract: "A messaging backend: one binary and one PostgreSQL.",
        version: version,
        subcommands: [
            Dev.self, Serve.self, Migrate.self, Token.self, DoctorCommand.self, Admin.self, ChatCommand.self,
        ])

    static let version = "0.1.0"

    static func main() async {
        ProcessCrash.endsAtOnce()
        let words = Array(CommandLine.arguments.dropFirst())
        if let (sentence, isAdmin) = unknownCommand(in: words) {
            let code = isAdmin ? AdminFailure.usage : ExitCode.validationFailure
            ProcessEnd.end(CommandFailure.say(sentence, code).rawValue)
        }
        do {
            var command = try parse(words)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            let text = fullMessage(for: error)
            if words.first == name(of: Admin.self),
                exitCode(for: error) == .validationFailure
            {
                ProcessEnd.end(AdminFailure.usage.rawValue, saying: text)
            }
            // An unknown flag would be a setting without effect, as an unknown key of a config file would.
            let unknown = message(for: error)
            if unknown.hasPrefix("Unknown option ") {
                let hint = unknown.contains("Did you mean") ? "" : ". `\(named) --help` lists those that there are."
                ProcessEnd.end(CommandFailure.say(unknown + hint, CommandFailure.configuration).rawValue)
            }
            ProcessEnd.end(exitCode(for: error).rawValue, saying: text)
        }
        ProcessEnd.end(0)
    }

    /// Returns the command that the words call.
    ///
    /// It first declares only the command and the flags among the words: in a debug build, to declare all of them takes
    /// a tenth of a second. If the words are not valid, the parser of all commands throws the error.
    private static func parse(_ words: [String]) throws -> any ParsableCommand {
        let (command, rest) = command(namedBy: words)
        guard command.configuration.subcommands.isEmpty,
            let parsed = try? SettingOptions.declaring(rest, { try command.parseAsRoot(Array(rest)) })
        else { return try parseAsRoot(words) }
        return parsed
    }

    /// Returns the command that the first words name, and the words after its name.
    private static func command(namedBy words: [String]) -> (any ParsableCommand.Type, rest: ArraySlice<String>) {
        var command: any ParsableCommand.Type = self
        var rest = words[...]
        while let next = command.configuration.subcommands.first(where: { name(of: $0) == rest.first }) {
            command = next
            rest.removeFirst()
        }
        return (command, rest)
    }

    /// The command as the user wrote it.
    private static var named: String {
        let names = configuration.subcommands.map(name)
        let name = CommandLine.arguments.dropFirst().first { names.contains($0) }
        return ["postline", name].compactMap(\.self).joined(separator: " ")
    }

    /// Returns an error if the first words name no command, and whether it belongs to `admin`: the nearest command, or
    /// the place of an option that precedes the command.
    ///
    /// The parser would report the options after an unknown command instead.
    static func unknownCommand(in words: [String]) -> (sentence: String, isAdmin: Bool)? {
        let (command, rest) = command(namedBy: words)
        let names = command.configuration.subcommands.map(name)
        guard let word = rest.first, !names.isEmpty, word != "help" else { return nil }
        let path = (["postline"] + words.prefix(rest.startIndex)).joined(separator: " ")
        if word.hasPrefix("-") {
            guard let next = rest.first(where: names.contains) else { return nil }
            return ("\(word) belongs after the command: `\(path) \(next) … \(word) …`.", rest.startIndex > 0)
        }
        let hint =
            Suggestion.nearest(to: word, among: names).map { "Did you mean '\($0)'?" }
            ?? "`\(path) --help` lists the commands."
        return ("`\(path)` has no command '\(word)'. \(hint)", rest.startIndex > 0)
    }

    private static func name(of command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? "\(command)".lowercased()
    }
}
