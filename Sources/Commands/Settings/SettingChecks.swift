import FoundationEssentials

/// Checks that several settings share. Each error names the setting.
enum SettingChecks {
    /// - Throws: `SettingsError` if the value is not an HTTP URL. Nil is valid.
    static func url(_ url: String?, _ name: String) throws(SettingsError) {
        guard let url else { return }
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), URL(string: url)?.host() != nil else {
            throw SettingsError("\(name) must be a URL that begins with https:// or http://.")
        }
    }

    /// Returns the secret that signs requests to a webhook.
    ///
    /// - Parameter group: the common prefix of the webhook's two settings.
    /// - Throws: `SettingsError` if it is missing or too short.
    static func webhookSecret(_ secret: String?, _ group: String) throws(SettingsError) -> String {
        guard let secret else {
            throw SettingsError("\(group)_WEBHOOK_URL needs \(group)_WEBHOOK_SECRET, of at least 32 bytes.")
        }
        guard secret.utf8.count >= 32 else {
            throw SettingsError("\(group)_WEBHOOK_SECRET must have at least 32 bytes: it has \(secret.utf8.count).")
        }
        return secret
    }

    /// Returns the contents of a setting's file.
    ///
    /// - Throws: `SettingsError` if it cannot be read.
    static func contents(of path: String, _ name: String) throws(SettingsError) -> Data {
        do {
            return try Data(contentsOf: URL(filePath: path))
        } catch {
            throw SettingsError("\(name) cannot be used: \(path) cannot be read.")
        }
    }

    /// Returns the result of `body`.
    ///
    /// - Throws: `SettingsError`: the name with the error of `body`.
    static func value<Value>(of name: String, _ body: () throws -> Value) throws(SettingsError) -> Value {
        do {
            return try body()
        } catch {
            throw SettingsError("\(name) \(error)")
        }
    }
}
