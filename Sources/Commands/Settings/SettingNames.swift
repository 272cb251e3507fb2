import Messaging

/// The names of settings, and suggestions for unknown ones.
enum SettingNames {
    static let prefix = "POSTLINE_"

    /// The environment variable of a setting.
    static func variable(_ key: String) -> String { prefix + key.uppercased() }

    /// The flag of a setting.
    static func flag(_ key: String) -> String { "--" + key.replacing("_", with: "-") }

    /// Variables that are not server settings: those of `chat` and of docker-compose.yml.
    private static let others: Set<String> = [
        "POSTLINE_CONFIG", "POSTLINE_PASSWORD", "POSTLINE_DATABASE_PASSWORD", "POSTLINE_PUBLISH",
        "POSTLINE_PUBLISH_HTTP",
    ]

    /// The build's variable, which is never suggested.
    private static let part = "POSTLINE_PART"

    /// The prefixes of the tests' variables.
    private static let testPrefixes = ["POSTLINE_TEST_", "POSTLINE_MODEL_", "POSTLINE_COMPOSED_"]

    private static let settings = Setting.all.map(\.variable)
    private static let variables = others.union(settings)

    /// Returns true if any part of Postline reads the variable.
    static func isKnown(_ variable: String) -> Bool {
        variables.contains(variable) || variable == part || testPrefixes.contains { variable.hasPrefix($0) }
    }

    /// Returns the key nearest to an unknown one, or nil.
    static func nearestKey(to key: String) -> String? {
        let nearest = Suggestion.nearest(to: variable(key), among: settings.sorted())
        return nearest.map { $0.dropFirst(prefix.count).lowercased() }
    }

    /// Returns the variable nearest to an unknown one, or nil. The comparison includes the prefix, so that a short name
    /// tolerates two swapped letters.
    static func nearestVariable(to variable: String) -> String? {
        Suggestion.nearest(to: variable, among: variables.sorted())
    }
}
