import FoundationEssentials

/// The texts of the given settings, and the names under which the user gave them.
///
/// A flag takes precedence over the environment, and that over the config file.
struct GivenSettings: Sendable {
    private var flags: [String: String] = [:]
    private var variables: [String: String] = [:]
    private var file: ConfigFile?

    /// Creates settings of which none is given.
    init() {}

    /// - Throws: `SettingsError` if the config file cannot be read or is invalid.
    init(_ options: SettingOptions) throws {
        flags = options.given
        variables = ProcessInfo.processInfo.environment
        let path = options.config ?? variables[SettingNames.variable("config")] ?? ""
        if !path.isEmpty { file = try ConfigFile(path) }
    }

    /// Returns the text of a setting, or nil if it is not given.
    func text(of key: String) -> String? {
        flags[key] ?? variables[SettingNames.variable(key)] ?? file?.values[key]
    }

    /// Returns the name under which the setting was given, or its variable.
    func name(of key: String) -> String {
        if flags[key] != nil { return SettingNames.flag(key) }
        if variables[SettingNames.variable(key)] == nil, let file, file.values[key] != nil {
            return "\(key) in the config file \(file.path)"
        }
        return SettingNames.variable(key)
    }

    /// The environment variables with the prefix of settings that nothing reads, sorted.
    var unknownVariables: [String] {
        variables.keys.filter { $0.hasPrefix(SettingNames.prefix) && !SettingNames.isKnown($0) }.sorted()
    }
}
