internal import ArgumentParser

/// The flags of a server: `--config`, and one a setting.
///
/// swift-argument-parser asks a type's mirror for its options, and then its initializer to take their values from the
/// decoder. Both go through the list of the settings, so that no flag needs a property of its own.
struct SettingOptions: ParsableArguments, CustomReflectable {
    /// The path of the config file, where it was given.
    private(set) var config: String?

    /// The texts of the flags that were given, by the keys of their settings.
    private(set) var given: [String: String] = [:]

    init() {}

    /// Those of a command that has flags of its own for a few settings.
    init(config: String?, given: [String: String]) {
        self.config = config
        self.given = given
    }

    /// These options over the settings of a dev world, which no variable of the environment replaces.
    ///
    /// - Throws: `SettingsError` if the directory holds no dev world.
    func ofDevWorld(in directory: String) throws -> SettingOptions {
        let file = try ConfigFile(devWorld: directory)
        return SettingOptions(config: file.path, given: file.values.merging(given) { $1 })
    }

    init(from decoder: any Decoder) throws {
        let flags = try decoder.container(keyedBy: Flag.self)
        config = try flags.decode(Option<String?>.self, forKey: Self.config).wrappedValue
        for setting in Setting.all {
            given[setting.key] =
                try flags.decode(Option<String?>.self, forKey: Flag(stringValue: setting.key)).wrappedValue
        }
    }

    var customMirror: Mirror {
        let file = Option<String?>(
            help: """
                A JSON file of settings, such as {"port": 7432}. Each setting below is a key of it (pool_size), and an \
                environment variable (POSTLINE_POOL_SIZE); this one is POSTLINE_CONFIG.
                """, completion: .file())
        return Mirror(
            self,
            children: [(label: Self.config.stringValue, value: file)]
                + Setting.all.map { (label: $0.key, value: $0.option) })
    }

    private static let config = Flag(stringValue: "config")

    /// The name under which a flag's value is kept.
    private struct Flag: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
