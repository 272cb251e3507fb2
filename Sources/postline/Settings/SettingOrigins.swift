import FoundationEssentials

/// The source of each given setting, and so the name under which the user knows it.
struct SettingOrigins: Sendable {
    private var names: [String: String] = [:]

    /// Creates an empty record.
    init() {}

    /// Records the names. A flag takes precedence over the environment, and that over the file.
    init(_ options: SettingOptions, _ file: ConfigFile?) {
        let environment = ProcessInfo.processInfo.environment
        for setting in Setting.all {
            let key = setting.key
            if options.given[key] != nil {
                names[key] = SettingNames.flag(key)
            } else if let file, file.values[key] != nil, environment[setting.variable] == nil {
                names[key] = "\(key) in the config file \(file.path)"
            }
        }
    }

    /// Returns the name under which the setting was given, or its variable.
    func name(of key: String) -> String { names[key] ?? SettingNames.variable(key) }
}
