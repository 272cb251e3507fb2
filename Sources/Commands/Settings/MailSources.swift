import Accounts
import FoundationEssentials
import Outbox

/// The settings of mail.
struct MailSources: Sendable {
    var from: String?
    var smtpURL: String?
    var smtpTLS = true
    var smtpUser: String?
    var smtpPassword: String?
    var webhookURL: String?
    var webhookSecret: String?
    var directory: String?
    var link: String?
    var textsFile: String?
    var authoritiesFile: String?
    var signInNeedsConfirmedEmail = false

    /// Returns the mail configuration, or nil if no mail is sent.
    ///
    /// - Parameter accounts: the manager of the accounts.
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func settings(accounts: AccountProvider) throws(SettingsError) -> MailSettings? {
        guard let transport = try transport() else {
            if signInNeedsConfirmedEmail {
                throw SettingsError(
                    "POSTLINE_SIGN_IN_NEEDS_CONFIRMED_EMAIL needs mail: set POSTLINE_MAIL_SMTP_URL, "
                        + "POSTLINE_MAIL_WEBHOOK_URL or POSTLINE_MAIL_DIR.")
            }
            if from != nil || link != nil || textsFile != nil {
                throw SettingsError(
                    "POSTLINE_MAIL_… needs a way to send mails: set POSTLINE_MAIL_SMTP_URL, POSTLINE_MAIL_WEBHOOK_URL "
                        + "or POSTLINE_MAIL_DIR.")
            }
            return nil
        }
        guard accounts == .builtin else {
            throw SettingsError(
                "POSTLINE_MAIL_… requires POSTLINE_AUTH=builtin: the server that manages the accounts sends "
                    + "their mails.")
        }
        guard let from = from.flatMap({ MailAddress($0) }) else {
            throw SettingsError(
                "POSTLINE_MAIL_FROM must be the address that mails are from, such as Chat <chat@example.com>.")
        }
        var settings = MailSettings(transport, from: from)
        if let link {
            guard URL(string: link.replacing("{token}", with: "t").replacing("{kind}", with: "k"))?.scheme != nil,
                link.contains("{token}") || !link.contains("#")
            else {
                throw SettingsError(
                    "POSTLINE_MAIL_LINK_URL must be a URL such as https://app.example.com/account, without a fragment, or one "
                        + "in which {token} and {kind} stand."
                )
            }
            settings.link = link
        }
        if let textsFile {
            let name = "POSTLINE_MAIL_TEXTS_FILE"
            let file = try SettingChecks.contents(of: textsFile, name)
            settings.texts = try SettingChecks.value(of: name) { try MailTexts(replacedBy: file) }
        }
        if let authoritiesFile { _ = try SettingChecks.contents(of: authoritiesFile, "POSTLINE_MAIL_AUTHORITIES_FILE") }
        settings.authorities = authoritiesFile
        return settings
    }

    /// True if a way to send mails is set.
    var isGiven: Bool { smtpURL != nil || webhookURL != nil || directory != nil }

    private func transport() throws(SettingsError) -> MailSettings.Transport? {
        let given = [("SMTP_URL", smtpURL), ("WEBHOOK_URL", webhookURL), ("DIR", directory)].filter { $0.1 != nil }
        guard given.count <= 1 else {
            throw SettingsError(
                "Set POSTLINE_MAIL_\(given[0].0) or POSTLINE_MAIL_\(given[1].0), not both: one of them takes mails.")
        }
        if smtpURL == nil, smtpUser != nil || smtpPassword != nil {
            throw SettingsError("POSTLINE_MAIL_SMTP_USER and POSTLINE_MAIL_SMTP_PASSWORD need POSTLINE_MAIL_SMTP_URL.")
        }
        if webhookURL == nil, webhookSecret != nil {
            throw SettingsError("POSTLINE_MAIL_WEBHOOK_SECRET needs POSTLINE_MAIL_WEBHOOK_URL too.")
        }
        if let smtpURL { return try smtp(smtpURL) }
        if let webhookURL { return try webhook(webhookURL) }
        return directory.map { .folder($0) }
    }

    private func smtp(_ url: String) throws(SettingsError) -> MailSettings.Transport {
        let parts = URL(string: url)
        guard parts?.user() == nil else {
            throw SettingsError(
                "POSTLINE_MAIL_SMTP_URL has no user in it: POSTLINE_MAIL_SMTP_USER and POSTLINE_MAIL_SMTP_PASSWORD say who."
            )
        }
        guard let scheme = parts?.scheme, ["smtp", "smtps"].contains(scheme), let parts, parts.host() != nil,
            ["", "/"].contains(parts.path()), parts.query() == nil, parts.fragment() == nil, parts.user() == nil
        else {
            throw SettingsError(
                "POSTLINE_MAIL_SMTP_URL must be smtp://host:port, or smtps://host:port if the server encrypts from "
                    + "the start.")
        }
        guard (smtpUser == nil) == (smtpPassword == nil) else {
            throw SettingsError("POSTLINE_MAIL_SMTP_USER and POSTLINE_MAIL_SMTP_PASSWORD go together.")
        }
        if scheme == "smtp", !smtpTLS, smtpPassword != nil {
            throw SettingsError(
                "POSTLINE_MAIL_SMTP_TLS=off would send POSTLINE_MAIL_SMTP_PASSWORD as it is, for everybody on the way "
                    + "to read.")
        }
        return .smtp(
            .init(
                url: url.hasSuffix("/") ? String(url.dropLast()) : url, needsTLS: smtpTLS || scheme == "smtps",
                user: smtpUser, password: smtpPassword))
    }

    private func webhook(_ url: String) throws(SettingsError) -> MailSettings.Transport {
        try SettingChecks.url(url, "POSTLINE_MAIL_WEBHOOK_URL")
        return .webhook(
            url: url, secret: try SettingChecks.webhookSecret(webhookSecret, "POSTLINE_MAIL"))
    }
}
