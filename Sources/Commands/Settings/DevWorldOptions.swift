import Accounts
import ArgumentParser

/// The option of a command that connects to a node's database: flags, environment and config file, or those of a dev
/// world.
///
/// It stands beside the command's `SettingOptions`. In a debug build the parser validates a group four times, and one
/// within it sixteen times.
struct DevWorldOptions: ParsableArguments {
    @Option(help: "The directory of a dev world, such as .postline, to use its settings.", completion: .directory)
    var directory: String?

    /// - Throws: `ValidationError` if the options name a dev world and a config file.
    func validate(with options: SettingOptions) throws {
        if directory != nil, options.config != nil {
            throw ValidationError("--directory names a dev world, which has its own settings: leave --config out.")
        }
    }

    /// - Throws: `SettingsError` if a setting is invalid or the directory contains no dev world.
    func settings(_ options: SettingOptions) throws -> Settings {
        try Settings(try directory.map(options.ofDevWorld) ?? options)
    }
}
