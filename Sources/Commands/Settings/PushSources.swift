import FoundationEssentials
import Outbox

/// The settings of device pushes.
struct PushSources: Sendable {
    var apnsKeyFile: String?
    var apnsKeyID: String?
    var apnsTeamID: String?
    var apnsTopic: String?
    var apnsURL: String?
    var fcmServiceAccountFile: String?
    var fcmURL: String?
    var webhookURL: String?
    var webhookSecret: String?
    var hasPreviews = false
    var textsFile: String?
    var authoritiesFile: String?

    /// Returns the push configuration, or nil if no provider is set.
    ///
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func settings() throws(SettingsError) -> PushSettings? {
        var settings = PushSettings()
        settings.hasPreviews = hasPreviews
        settings.authorities = authoritiesFile
        if let authoritiesFile { _ = try SettingChecks.contents(of: authoritiesFile, "POSTLINE_PUSH_AUTHORITIES_FILE") }
        settings.apns = try apns()
        settings.fcm = try fcm()
        settings.webhook = try webhook()
        if let textsFile {
            let name = "POSTLINE_PUSH_TEXTS_FILE"
            let file = try SettingChecks.contents(of: textsFile, name)
            settings.texts = try SettingChecks.value(of: name) { try PushTexts(replacedBy: file) }
        }
        return settings.platforms.isEmpty ? nil : settings
    }

    private func apns() throws(SettingsError) -> PushSettings.APNs? {
        let all = [
            ("KEY_FILE", apnsKeyFile), ("KEY_ID", apnsKeyID), ("TEAM_ID", apnsTeamID), ("TOPIC", apnsTopic),
        ]
        guard all.contains(where: { $0.1 != nil }) else { return nil }
        if let missing = all.first(where: { $0.1 == nil })?.0 {
            throw SettingsError("Apple's pushes need POSTLINE_PUSH_APNS_\(missing) too.")
        }
        try SettingChecks.url(apnsURL, "POSTLINE_PUSH_APNS_URL")
        let name = "POSTLINE_PUSH_APNS_KEY_FILE"
        let key = String(decoding: try SettingChecks.contents(of: apnsKeyFile ?? "", name), as: UTF8.self)
        return try SettingChecks.value(of: name) {
            try PushSettings.APNs(
                key: key, keyID: apnsKeyID ?? "", teamID: apnsTeamID ?? "", topic: apnsTopic ?? "", url: apnsURL)
        }
    }

    private func fcm() throws(SettingsError) -> PushSettings.FCM? {
        guard let fcmServiceAccountFile else { return nil }
        try SettingChecks.url(fcmURL, "POSTLINE_PUSH_FCM_URL")
        let name = "POSTLINE_PUSH_FCM_SERVICE_ACCOUNT_FILE"
        let file = try SettingChecks.contents(of: fcmServiceAccountFile, name)
        return try SettingChecks.value(of: name) { try PushSettings.FCM(serviceAccount: file, url: fcmURL) }
    }

    private func webhook() throws(SettingsError) -> PushSettings.Webhook? {
        guard let webhookURL else {
            if webhookSecret != nil {
                throw SettingsError("POSTLINE_PUSH_WEBHOOK_SECRET needs POSTLINE_PUSH_WEBHOOK_URL too.")
            }
            return nil
        }
        try SettingChecks.url(webhookURL, "POSTLINE_PUSH_WEBHOOK_URL")
        return PushSettings.Webhook(
            url: webhookURL, secret: try SettingChecks.webhookSecret(webhookSecret, "POSTLINE_PUSH"))
    }
}
