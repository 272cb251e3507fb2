import Accounts
import FoundationEssentials
import Logging
import Outbound

/// The settings of Sign in with Apple.
struct AppleSources: Sendable {
    var clientIDs: String?
    var keysURL: String?
    var keysFile: String?

    /// The URL of Apple's keys (Apple, "Fetch Apple's public key for verifying token signature").
    static let keysURL = "https://appleid.apple.com/auth/keys"

    /// The client ids of the accepted apps.
    var clients: Set<String> {
        Set((clientIDs ?? "").split(separator: ",").map { $0.filter { $0 != " " } }.filter { !$0.isEmpty })
    }

    /// Returns the verifier of Apple's tokens, or nil if none are accepted.
    ///
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func signIn(logger: Logger) throws(SettingsError) -> AppleSignIn? {
        let source = try source()
        return clients.isEmpty ? nil : AppleSignIn(clients: clients, source: source, logger: logger)
    }

    /// Returns the source of Apple's keys.
    ///
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func source() throws(SettingsError) -> any KeySetSource {
        if clients.isEmpty, keysURL != nil || keysFile != nil {
            throw SettingsError("POSTLINE_APPLE_KEYS_… needs POSTLINE_APPLE_CLIENT_IDS, the apps' bundle ids.")
        }
        if let keysFile {
            guard keysURL == nil else {
                throw SettingsError("Set POSTLINE_APPLE_KEYS_FILE or POSTLINE_APPLE_KEYS_URL, not both.")
            }
            return KeySetFile(keysFile)
        }
        let url = keysURL ?? Self.keysURL
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), URL(string: url)?.host() != nil else {
            throw SettingsError("POSTLINE_APPLE_KEYS_URL must be a URL that begins with https:// or http://.")
        }
        return KeySetURL(url)
    }
}
