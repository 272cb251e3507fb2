internal import FoundationEssentials

/// What several settings must be alike; each refusal names the setting.
enum SettingChecks {
    /// - Throws: `SettingsError` where it is no address of a web server; none is fine.
    static func url(_ url: String?, _ name: String) throws(SettingsError) {
        guard let url else { return }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), URL(string: url)?.host() != nil else {
            throw SettingsError("\(name) must be a URL that begins with https:// or http://.")
        }
    }

    /// What requests to a webhook are signed with.
    ///
    /// - Parameter group: what the names of its two settings begin with.
    /// - Throws: `SettingsError` where it is not set, or too short.
    static func webhookSecret(_ secret: String?, _ group: String) throws(SettingsError) -> String {
        guard let secret else {
            throw SettingsError("\(group)_WEBHOOK_URL needs \(group)_WEBHOOK_SECRET, of at least 32 bytes.")
        }
        guard secret.utf8.count >= 32 else {
            throw SettingsError("\(group)_WEBHOOK_SECRET must have at least 32 bytes: it has \(secret.utf8.count).")
        }
        return secret
    }

    /// What stands in a setting's file.
    ///
    /// - Throws: `SettingsError` where it cannot be read.
    static func contents(of path: String, _ name: String) throws(SettingsError) -> Data {
        do {
            return try Data(contentsOf: URL(filePath: path))
        } catch {
            throw SettingsError("\(name) cannot be used: \(path) cannot be read.")
        }
    }

    /// What `body` makes of a setting.
    ///
    /// - Throws: `SettingsError`, the name with what `body` says is wrong.
    static func value<Value>(of name: String, _ body: () throws -> Value) throws(SettingsError) -> Value {
        do {
            return try body()
        } catch {
            throw SettingsError("\(name) \(error)")
        }
    }
}
