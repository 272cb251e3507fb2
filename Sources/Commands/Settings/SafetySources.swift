import FoundationEssentials
import Outbox

/// The settings of reports and of old messages, and how users reach the operator.
struct SafetySources: Sendable {
    var contactURL: String?
    var retentionDays = 90
    var messageRetentionDays: Int?
    var webhookURL: String?
    var webhookSecret: String?
    var authoritiesFile: String?

    /// Returns the webhook that is told of new reports, or nil if none is set.
    ///
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func webhook() throws(SettingsError) -> ReportWebhookSettings? {
        guard let webhookURL else {
            if webhookSecret != nil {
                throw SettingsError("POSTLINE_REPORT_WEBHOOK_SECRET needs POSTLINE_REPORT_WEBHOOK_URL too.")
            }
            return nil
        }
        try SettingChecks.url(webhookURL, "POSTLINE_REPORT_WEBHOOK_URL")
        if let authoritiesFile {
            _ = try SettingChecks.contents(of: authoritiesFile, "POSTLINE_REPORT_AUTHORITIES_FILE")
        }
        return ReportWebhookSettings(
            url: webhookURL, secret: try SettingChecks.webhookSecret(webhookSecret, "POSTLINE_REPORT"),
            authorities: authoritiesFile)
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
