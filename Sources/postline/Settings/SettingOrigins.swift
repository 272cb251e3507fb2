internal import FoundationEssentials

/// Where settings were given, and so by which names a user knows them.
struct SettingOrigins: Sendable {
    private var names: [String: String] = [:]

    /// Nothing is given.
    init() {}

    /// What is given more than once counts where it is looked for first: as a flag, in the environment, in the file.
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

    /// As it was given; its variable where it was not.
    func name(of key: String) -> String { names[key] ?? SettingNames.variable(key) }
}
