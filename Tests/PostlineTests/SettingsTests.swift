import ArgumentParser
import Testing

@testable import Commands

@Suite("Invalid settings")
struct SettingsTests {
    /// The integer settings.
    static let integers = [
        "port", "access_token_seconds", "refresh_reuse_seconds", "pool_size", "max_connections",
        "max_connections_per_address",
        "max_line_bytes", "max_queue_bytes", "max_unwritten_bytes", "max_in_flight", "authentication_seconds",
        "ping_seconds",
        "failed_logins_per_minute", "sign_ins_per_minute", "sends_per_second", "send_burst", "text_bytes_per_second",
        "searches_per_second",
        "slow_consumer_seconds", "statement_timeout_seconds", "lock_timeout_seconds", "operations_port", "http_port",
        "media_max_bytes", "media_file_max_bytes", "media_bytes_per_user", "media_min_free_bytes", "mails_per_hour",
        "mail_requests_per_hour",
        "media_bytes_per_day", "guest_media_bytes_per_day", "report_retention_days", "message_retention_days",
    ]

    /// The settings with a choice of words.
    static let choices = [
        "auth", "proxy_protocol", "rate_limits", "log_level", "console", "push_previews", "mail_smtp_tls",
        "filter_webhook_default",
        "sign_in_needs_confirmed_email",
    ]

    /// The settings that accept any text, or are validated where they are used.
    private static let texts = [
        "jwt_secret", "jwks_file", "tls_certificate", "tls_key", "push_apns_key_file", "push_apns_key_id",
        "push_apns_team_id", "push_apns_topic", "push_apns_url", "push_fcm_service_account_file", "push_fcm_url",
        "push_webhook_url", "push_webhook_secret", "push_texts_file", "push_authorities_file",
        "media_dir", "media_url", "media_secret", "media_s3_endpoint", "media_s3_region", "media_s3_bucket",
        "media_s3_public_bucket", "media_s3_public_url", "media_s3_access_key_id", "media_s3_secret_access_key",
        "media_s3_authorities_file",
        "mail_from", "mail_smtp_url", "mail_smtp_user", "mail_smtp_password", "mail_webhook_url",
        "mail_webhook_secret", "mail_dir", "mail_link_url", "mail_texts_file", "mail_authorities_file",
        "apple_client_ids", "apple_keys_url", "apple_keys_file", "report_webhook_url", "report_webhook_secret",
        "report_authorities_file", "filter_webhook_url", "filter_webhook_secret", "filter_authorities_file",
    ]

    static let connectionStrings = [
        "database_url", "listen_database_url", "replica_database_url", "admin_database_url",
    ]

    @Test(
        "row 52: an invalid number is named with its range",
        arguments: SettingsTests.integers)
    func number(key: String) throws {
        for value in ["-1", "99999999999999999999", "9000000000000000000", "1.5", "1e3", "many", "", " ", "0x10"] {
            let sentence = try Self.refusal(key, value)
            let flag = SettingNames.flag(key)
            #expect(
                sentence?.wholeMatch(of: #/--[a-z0-9-]+ must be an integer from \d+ to \d+(, or off)?\./#) != nil
                    && sentence?.hasPrefix("\(flag) ") == true, "\(key)=\(value): \(sentence ?? "taken")")
        }
    }

    @Test("row 52: an unknown word is named with all valid ones", arguments: SettingsTests.choices)
    func word(key: String) throws {
        for value in ["maybe", "ON", "1"] {
            let sentence = try Self.refusal(key, value)
            #expect(sentence?.hasPrefix("\(SettingNames.flag(key)) must be one of ") == true, "\(key)=\(value)")
        }
    }

    @Test(
        "row 52: an empty text is named",
        arguments: SettingsTests.choices + ["jwt_issuer", "jwt_audience"])
    func emptyText(key: String) throws {
        #expect(try Self.refusal(key, "") == "\(SettingNames.flag(key)) must not be empty.")
    }

    @Test(
        "row 52: an invalid connection string is named, but not printed",
        arguments: SettingsTests.connectionStrings)
    func connectionString(key: String) throws {
        for value in ["s3cret", "postgresql://ada:s3/cret@db/app", "host=db sslmode=s3cret", "hots=s3cret"] {
            let sentence = try Self.refusal(key, value)
            #expect(sentence?.hasPrefix("\(SettingNames.flag(key)) ") == true, "\(value)")
            #expect(sentence?.contains("s3") == false)
        }
        #expect(try Self.refusal(key, "postgresql://postline:x%2Fy@127.0.0.1:5433/postline") == nil)
        #expect(try Self.refusal(key, "") == nil)
    }

    @Test(
        "row 55: an invalid host is named",
        arguments: ["host", "operations_host", "http_host"])
    func host(key: String) throws {
        for value in ["not an address", "", "127.0.0.1:7432", "http://localhost", "[::1]", "999.0.0.1", "1", "a/b"] {
            let sentence = try Self.refusal(key, value)
            #expect(
                sentence?.hasPrefix("\(SettingNames.flag(key)) must be an address or a name") == true, "\(value)")
        }
        for value in ["127.0.0.1", "0.0.0.0", "::", "::1", "fe80::1%eth0", "localhost", "node-1.internal", "a_b"] {
            #expect(try Self.refusal(key, value) == nil, "\(value)")
        }
    }

    @Test("row 52: an invalid origin or network is named with an example")
    func lists() throws {
        let none = [
            "app.example.com", "https://a/b", "https://", "https://a,b", "null", "capacitor://localhost/",
            "app:localhost",
            "1app://a", "a_b://c", "://a", "file://", "https://*.example.com", "https://a b@c", "https://u@a",
            "https://a?b", "https://a#b", "https://a:0", "https://a:70000", "https://a:80:80", "https://[::1",
            "https://::1",
            "https://[a]", "https://a:", "https://a:+1", "javascript:alert(1)", "*://a", "data:,x",
        ]
        for value in none {
            #expect(
                try Self.refusal("http_origins", value)?.hasPrefix("--http-origins must be origins") == true,
                "\(value)")
        }
        for value in ["10.0.0.0/33", "10.0.0/8", "::/129", "a", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/"] {
            #expect(
                try Self.refusal("http_trusted_proxies", value)?
                    .hasPrefix("--http-trusted-proxies must be addresses or networks") == true, "\(value)")
        }
        // E21
        let origins = [
            "https://a.example.com, http://localhost:3000", "capacitor://localhost", "ionic://localhost",
            "tauri://localhost", "app://.", "app://-", "app://com.example.app", "http://tauri.localhost", "ftp://a",
            "chrome-extension://abcdefghijklmnop", "vscode-webview://x1", "web+app.2://a", "https://[::1]:3000", "*",
            "HTTPS://App.Example.Com:443", "http://127.0.0.1",
        ]
        for value in origins { #expect(try Self.refusal("http_origins", value) == nil, "\(value)") }
        let kept = try SettingForm<[String]>.origins.read("HTTPS://App.Example.Com:443, http://a:80, app://A:443")
        #expect(kept == ["https://app.example.com", "http://a", "app://a:443"])
        #expect(try Self.refusal("http_trusted_proxies", "10.0.0.0/8, fd00::/8, 192.0.2.1") == nil)
        for value in ["a/b.example", "a.example:80", "http://a.example", "[::1]", "a.example, u@b.example"] {
            #expect(
                try Self.refusal("operations_names", value)?
                    .hasPrefix("--operations-names must be names of hosts") == true, "\(value)")
        }
        #expect(try Self.refusal("operations_names", "node1.example.com, Node2.example.com") == nil)
        #expect(try Self.refusal("operations_names", "*") == nil)
        for key in ["http_origins", "http_trusted_proxies", "operations_names"] {
            #expect(try Self.refusal(key, "") == nil)
        }
    }

    @Test("row 52: an invalid contact is named with an example")
    func contact() throws {
        for value in ["http://a.example", "support@example.com", "mailto:", "mailto:support", "https://", "tel:+1"] {
            #expect(
                try Self.refusal("contact_url", value)?.hasPrefix("--contact-url must be an https: or mailto:") == true,
                "\(value)")
        }
        for value in ["", "https://example.com/help", "mailto:support@example.com?subject=Chat"] {
            #expect(try Self.refusal("contact_url", value) == nil, "\(value)")
        }
    }

    @Test("each setting is tried with invalid values")
    func complete() {
        let tried =
            Self.integers + Self.choices + Self.texts + Self.connectionStrings
            + ["host", "operations_host", "http_host", "jwt_issuer", "jwt_audience"]
            + ["http_origins", "http_trusted_proxies", "operations_names", "contact_url"]
        #expect(Set(tried) == Set(Setting.all.map(\.key)))
    }

    /// Returns the error of a flag's value, or nil if it is valid. That each flag is read, `SettingsDocumentedTests`
    /// tests: in a debug build the parser takes 50 ms.
    private static func refusal(_ key: String, _ value: String) throws -> String? {
        do {
            _ = try Settings(SettingOptions(config: nil, given: [key: value]))
            return nil
        } catch let error as SettingsError {
            return error.description
        }
    }
}
