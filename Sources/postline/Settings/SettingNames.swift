internal import Messaging

/// The names by which anything of Postline's is set, and what was meant by one that is none of them.
enum SettingNames {
    static let prefix = "POSTLINE_"

    /// The environment variable of a setting.
    static func variable(_ key: String) -> String { prefix + key.uppercased() }

    /// The flag of a setting.
    static func flag(_ key: String) -> String { "--" + key.replacing("_", with: "-") }

    /// Variables that are no settings of a server: of `chat` and of docker-compose.yml.
    private static let others: Set<String> = [
        "POSTLINE_CONFIG", "POSTLINE_PASSWORD", "POSTLINE_DATABASE_PASSWORD", "POSTLINE_PUBLISH",
        "POSTLINE_PUBLISH_HTTP",
    ]

    /// The build's, which nobody means who runs a server.
    private static let part = "POSTLINE_PART"

    /// How the variables of the tests begin.
    private static let testPrefixes = ["POSTLINE_TEST_", "POSTLINE_MODEL_", "POSTLINE_COMPOSED_"]

    private static let settings = Setting.all.map(\.variable)
    private static let variables = others.union(settings)

    /// Whether something of Postline's reads that variable.
    static func isKnown(_ variable: String) -> Bool {
        variables.contains(variable) || variable == part || testPrefixes.contains { variable.hasPrefix($0) }
    }

    /// The setting whose key is nearest to that.
    static func nearestKey(to key: String) -> String? {
        let nearest = Suggestion.nearest(to: variable(key), among: settings.sorted())
        return nearest.map { $0.dropFirst(prefix.count).lowercased() }
    }

    /// The variable that is nearest to that. With its prefix, so that of a short one two letters may be exchanged.
    static func nearestVariable(to variable: String) -> String? {
        Suggestion.nearest(to: variable, among: variables.sorted())
    }
}
