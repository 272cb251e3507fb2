import Accounts
import ArgumentParser

/// The settings of a command that connects to a node's database: flags, environment and config file, or those of a dev
/// world.
struct DevWorldOptions: ParsableArguments {
    @OptionGroup var options: SettingOptions

    @Option(help: "The directory of a dev world, such as .postline, to use its settings.", completion: .directory)
    var directory: String?

    func validate() throws {
        if directory != nil, options.config != nil {
            throw ValidationError("--directory names a dev world, which has its own settings: leave --config out.")
        }
    }

    /// - Throws: `SettingsError` if a setting is invalid or the directory contains no dev world.
    func settings() throws -> Settings {
        try Settings(try directory.map(options.ofDevWorld) ?? options)
    }
}
