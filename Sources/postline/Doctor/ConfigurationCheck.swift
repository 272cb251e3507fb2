internal import Messaging

/// The settings that were read: whether they are enough, and whether secrets are secret.
struct ConfigurationCheck: Sendable {
    let settings: Settings

    private static let check = "configuration"

    func findings() async -> [Finding] {
        var findings: [Finding] = []
        do {
            _ = try settings.requireDatabaseURL()
            _ = try await settings.tokenKeys()
            findings.append(.ok(Self.check, "The settings can be read, and tokens be verified with them."))
        } catch {
            findings.append(.problem(Self.check, "\(error)", "Set it, and ask again."))
        }
        if let secret = settings.jwtSecret, settings.jwksFile == nil, secret.utf8.count >= 32 {
            findings.append(Self.secrecy(of: secret))
        }
        if settings.accountKeeper == .external, settings.jwtIssuer == "postline" {
            findings.append(
                .warning(
                    Self.check, "With POSTLINE_AUTH=external, tokens must name the issuer postline.",
                    "Set POSTLINE_JWT_ISSUER to what the other server writes into iss, such as "
                        + "https://PROJECT.supabase.co/auth/v1."))
        }
        return findings
    }

    /// Whether a secret that is long enough looks as if chance had made it.
    static func secrecy(of secret: String) -> Finding {
        guard Set(secret.utf8).count >= 10 else {
            return .warning(
                check, "POSTLINE_JWT_SECRET is long enough but made of few different characters.",
                "Make another by chance: openssl rand -hex 32.")
        }
        return .ok(check, "POSTLINE_JWT_SECRET is long enough.")
    }
}
