import FoundationEssentials
import Outbox

/// The settings of reports, of the filter and of old messages, and how users reach the operator.
struct SafetySources: Sendable {
    var contactURL: String?
    var retentionDays = 90
    var messageRetentionDays: Int?
    var webhookURL: String?
    var webhookSecret: String?
    var authoritiesFile: String?
    var filter = Filter()

    /// The settings of the webhook that decides about held messages.
    struct Filter: Sendable {
        var webhookURL: String?
        var webhookSecret: String?
        var authoritiesFile: String?

        /// The decision if the webhook makes none.
        var fallback = HeldMessageDecision.hold
    }

    /// Returns the webhook that is told of new reports, or nil if none is set.
    ///
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func webhook() throws(SettingsError) -> WebhookSettings? {
        try Self.webhook(webhookURL, webhookSecret, authoritiesFile, "POSTLINE_REPORT")
    }

    /// Returns the webhook that decides about held messages, or nil if none is set.
    ///
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func filterWebhook() throws(SettingsError) -> WebhookSettings? {
        try Self.webhook(filter.webhookURL, filter.webhookSecret, filter.authoritiesFile, "POSTLINE_FILTER")
    }

    private static func webhook(
        _ url: String?, _ secret: String?, _ authoritiesFile: String?, _ group: String
    ) throws(SettingsError) -> WebhookSettings? {
        guard let url else {
            if secret != nil { throw SettingsError("\(group)_WEBHOOK_SECRET needs \(group)_WEBHOOK_URL too.") }
            return nil
        }
        try SettingChecks.url(url, "\(group)_WEBHOOK_URL")
        if let authoritiesFile {
            _ = try SettingChecks.contents(of: authoritiesFile, "\(group)_AUTHORITIES_FILE")
        }
        return WebhookSettings(
            url: url, secret: try SettingChecks.webhookSecret(secret, group), authorities: authoritiesFile)
    }
}

extension SettingForm<String?> {
    /// An `https:` or `mailto:` URL, or nil.
    static let contact = SettingForm(
        read: { text throws(SettingFlaw) in
            if text.isEmpty { return nil }
            let isPage = text.hasPrefix("https://") && URL(string: text)?.host()?.isEmpty == false
            let isMail = text.hasPrefix("mailto:") && MailAddress(String(text.dropFirst(7).prefix { $0 != "?" })) != nil
            guard text.utf8.count <= 2_048, isPage || isMail else {
                throw SettingFlaw("must be an https: or mailto: URL, such as mailto:support@example.com.")
            }
            return text
        },
        write: { $0 })
}
