internal import Messaging

/// The names by which anything of Postline's is set, and what was meant by one that is none of them.
enum SettingNames {
    static let prefix = "POSTLINE_"

    /// The environment variable of a setting.
    static func variable(_ key: String) -> String { prefix + key.uppercased() }

    /// Variables that are no settings of a server: of `chat`, of docker-compose.yml and of the build.
    private static let others: Set<String> = [
        "POSTLINE_CONFIG", "POSTLINE_PASSWORD", "POSTLINE_DATABASE_PASSWORD", "POSTLINE_PUBLISH", "POSTLINE_PART",
    ]

    /// How the variables of the tests begin.
    private static let testPrefixes = ["POSTLINE_TEST_", "POSTLINE_MODEL_", "POSTLINE_COMPOSED_"]

    private static let variables = others.union(SettingOptions.keys.map(variable))

    /// Whether something of Postline's reads that variable.
    static func isKnown(_ variable: String) -> Bool {
        variables.contains(variable) || testPrefixes.contains { variable.hasPrefix($0) }
    }

    /// The setting whose key is nearest to that.
    static func nearestKey(to key: String) -> String? {
        Suggestion.nearest(to: key, among: SettingOptions.keys.sorted())
    }

    /// The variable that is nearest to that.
    static func nearestVariable(to variable: String) -> String? {
        let name = String(variable.dropFirst(prefix.count))
        let candidates = variables.map { String($0.dropFirst(prefix.count)) }
        return Suggestion.nearest(to: name, among: candidates.sorted()).map { prefix + $0 }
    }
}
