import ArgumentParser

/// The flags of a server: `--config`, and one per setting.
///
/// swift-argument-parser reads a type's options from its mirror, and their values through its decoding initializer.
/// Both use the list of settings, so that no flag needs a property.
struct SettingOptions: ParsableArguments, CustomReflectable {
    /// The path of the config file, or nil.
    private(set) var config: String?

    /// The texts of the given flags, by setting key.
    private(set) var given: [String: String] = [:]

    init() {}

    /// Creates the options of a command that declares flags for a few settings itself.
    init(config: String?, given: [String: String]) {
        self.config = config
        self.given = given
    }

    /// Returns these options on top of a dev world's settings, which environment variables do not override.
    ///
    /// - Throws: `SettingsError` if the directory contains no dev world.
    func ofDevWorld(in directory: String) throws -> SettingOptions {
        let file = try ConfigFile(devWorld: directory)
        return SettingOptions(config: file.path, given: file.values.merging(given) { $1 })
    }

    init(from decoder: any Decoder) throws {
        let flags = try decoder.container(keyedBy: Flag.self)
        config = try flags.decode(Option<String?>.self, forKey: Self.config).wrappedValue
        for setting in Setting.all where Self.isDeclared(setting.key) {
            given[setting.key] =
                try flags.decode(Option<String?>.self, forKey: Flag(stringValue: setting.key)).wrappedValue
        }
    }

    var customMirror: Mirror {
        Mirror(self, children: Self.options.filter { $0.label == "config" || Self.isDeclared($0.label ?? "") })
    }

    /// The words whose flags are declared; nil to declare all flags.
    @TaskLocal private static var words: Set<String>?

    /// Runs a parser for which only the flags among the words are declared.
    static func declaring<Parsed>(_ words: ArraySlice<String>, _ parse: () throws -> Parsed) rethrows -> Parsed {
        let names = words.map { $0.prefix { $0 != "=" } }
        return try $words.withValue(Set(names.map(String.init)), operation: parse)
    }

    private static func isDeclared(_ key: String) -> Bool {
        words?.contains(SettingNames.flag(key)) ?? true
    }

    /// The options, which the parser reads some twenty times in a debug build.
    private static let options: [(label: String?, value: any Sendable)] = {
        let file = Option<String?>(
            help: """
                A JSON file of settings, such as {"port": 7432}. Each setting below is a key of it (pool_size), and an \
                environment variable (POSTLINE_POOL_SIZE); this one is POSTLINE_CONFIG.
                """, completion: .file())
        return [(label: config.stringValue, value: file)] + Setting.all.map { (label: $0.key, value: $0.option) }
    }()

    private static let config = Flag(stringValue: "config")

    /// The coding key of a flag's value.
    private struct Flag: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
