import Accounts
import FoundationEssentials

/// Checks that the settings are complete, secrets are strong, and the certificate is valid.
struct ConfigurationCheck: Sendable {
    let settings: SettingsUnderTest

    private static let check = "configuration"

    func findings() -> [Finding] {
        var findings: [Finding] = [
            settings.flaw.map { .problem(Self.check, $0, "Correct it and run doctor again.") }
                ?? .ok(Self.check, "The settings can be read, and tokens be verified with them.")
        ]
        if let secret = settings.jwtSecret, secret.utf8.count >= 32 {
            findings.append(Self.secrecy(of: secret))
        }
        if settings.accountProvider == .external, settings.jwtIssuer == "postline" {
            findings.append(
                .warning(
                    Self.check, "With POSTLINE_AUTH=external, tokens must name the issuer postline.",
                    "Set POSTLINE_JWT_ISSUER to what the other server writes into iss, such as "
                        + "https://PROJECT.supabase.co/auth/v1."))
        }
        if let certificate = settings.certificate { findings.append(Self.certificate(certificate.expiry)) }
        for (variable, nearest) in settings.unknownVariables {
            findings.append(
                .warning(
                    Self.check, "The environment variable \(variable) is not a setting and is ignored.",
                    nearest.map { "Did you mean \($0)?" } ?? "Remove it if it was meant for Postline."))
        }
        return findings
    }

    private static func certificate(_ expiry: Result<Int, any Error>) -> Finding {
        switch expiry {
        case .success(let seconds): validity(until: Double(seconds), now: WallClock.seconds)
        case .failure(let error): .problem("tls", "\(error)", "Without it `serve` does not start.")
        }
    }

    /// Checks that a certificate is valid long enough to be renewed in time.
    static func validity(until expiry: Double, now: Double) -> Finding {
        let day = Date(timeIntervalSince1970: expiry).formatted(.iso8601).prefix(10)
        let advice = "Replace the files with renewed ones, and send each node SIGHUP."
        guard expiry > now else {
            return .problem("tls", "The certificate of POSTLINE_TLS_CERTIFICATE has expired on \(day).", advice)
        }
        let message = "The certificate of POSTLINE_TLS_CERTIFICATE is valid until \(day)."
        return expiry - now < 14 * 86_400 ? .warning("tls", message, advice) : .ok("tls", message)
    }

    /// Checks that a secret of sufficient length looks random.
    static func secrecy(of secret: String) -> Finding {
        guard Set(secret.utf8).count >= 10 else {
            return .warning(
                check, "POSTLINE_JWT_SECRET is long enough but made of few different characters.",
                "Make another by chance: openssl rand -hex 32.")
        }
        let fingerprint = SecretFingerprint.of(secret)
        return .ok(
            check, "POSTLINE_JWT_SECRET is long enough. Its fingerprint, the same on all nodes, is \(fingerprint).")
    }
}
