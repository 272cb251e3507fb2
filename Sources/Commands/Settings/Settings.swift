import Accounts
import ChangeFeed
import DatabaseAccess
import FoundationEssentials
import Gateway
import LineServer
import Logging
import Messaging

/// The settings of a server: from flags, else the environment, else the config file, else the defaults.
///
/// Values are stored where they are used, such as in the line server's configuration. `Setting.all` maps settings to
/// them; the initial values here are the defaults.
struct Settings: Sendable {
    var databaseURL: String?

    /// The connection string of the feed, if it differs from the database's.
    var listenDatabaseURL: String?
    var replicaDatabaseURL: String?
    var adminDatabaseURL: String?
    var poolSize = 8
    var limits = StatementLimits(statement: .seconds(10), lock: .seconds(5))

    /// The line server's configuration, without the certificate.
    var lines = LineServer.Configuration()

    /// The gateway's configuration, without what it shares with the line server.
    var gateway = Gateway.Configuration()

    /// The HTTP host, or nil for the line server's.
    var httpHost: String?

    /// The HTTP port, or nil if HTTP is off.
    var httpPort: Int? = 7433
    var hasConsole = false
    var tlsCertificate: String?
    var tlsKey: String?
    var operationsHost = "127.0.0.1"

    /// The operations port, or nil if it is off.
    var operationsPort: Int? = 7480
    var operationsNames: [String] = []
    var accountProvider = AccountProvider.builtin
    var jwtSecret: String?
    var jwksFile: String?
    var jwtIssuer = "postline"
    var jwtAudience = "authenticated"
    var accessTokenSeconds = 3_600
    var refreshReuseSeconds = 10
    var hasRateLimits = true
    var rates = Rates()
    var push = PushSources()
    var mail = MailSources()
    var media = MediaSources()
    var apple = AppleSources()
    var safety = SafetySources()
    var logLevel = Logger.Level.info

    /// Unknown environment variables with the prefix of settings, sorted.
    private(set) var unknownVariables: [String] = []

    private var given = GivenSettings()

    /// The defaults.
    init() {}

    /// - Throws: `SettingsError`, which names the setting as it was given and its valid values.
    init(_ options: SettingOptions) throws {
        given = try GivenSettings(options)
        for setting in Setting.all {
            guard let text = given.text(of: setting.key) else { continue }
            try setting.read(text, as: name(of: setting.key), into: &self)
        }
        unknownVariables = given.unknownVariables
        try refuseHalfCertificate()
        try refuseTwoVerifiers()
        try refuseSharedPort()
    }

    /// Returns the name under which the setting was given, or its variable.
    func name(of key: String) -> String { given.name(of: key) }

    private func refuseHalfCertificate() throws(SettingsError) {
        if tlsCertificate != nil, tlsKey == nil {
            throw SettingsError("\(name(of: "tls_certificate")) needs its key: set POSTLINE_TLS_KEY.")
        }
        if tlsCertificate == nil, tlsKey != nil {
            throw SettingsError("\(name(of: "tls_key")) needs its certificate: set POSTLINE_TLS_CERTIFICATE.")
        }
    }

    private func refuseTwoVerifiers() throws(SettingsError) {
        guard jwtSecret != nil, jwksFile != nil else { return }
        throw SettingsError(
            "Set POSTLINE_JWT_SECRET or POSTLINE_JWKS_FILE, not both: one of them verifies access tokens.")
    }

    /// The fixed addresses on which the node listens, each with the key of its port's setting.
    var listeners: [(key: String, host: String, port: Int)] {
        [
            ("port", lines.host, lines.port), ("http_port", httpHost ?? lines.host, httpPort ?? 0),
            ("operations_port", operationsHost, operationsPort ?? 0),
        ].filter { $0.port != 0 }
    }

    /// Checks that no two servers share a port. Two names of one address are detected when listening.
    private func refuseSharedPort() throws(SettingsError) {
        for (index, (key, host, port)) in listeners.enumerated() {
            for (otherKey, otherHost, otherPort) in listeners[(index + 1)...] where otherPort == port {
                guard host == otherHost || [host, otherHost].contains(where: { ["0.0.0.0", "::"].contains($0) }) else {
                    continue
                }
                let (name, other) = (name(of: key), name(of: otherKey))
                throw SettingsError("\(name) and \(other) must not be the same: both are \(port).")
            }
        }
    }
}

extension Settings {
    /// - Throws: `SettingsError` if it is not set.
    func requireDatabaseURL() throws -> String {
        guard let databaseURL, !databaseURL.isEmpty else {
            throw SettingsError(
                "No database: set POSTLINE_DATABASE_URL, such as postgres://postline@localhost/postline, "
                    + "or run `postline dev`, which brings its own.")
        }
        return databaseURL
    }

    /// The certificate and key files, or nil without TLS.
    var tls: TLSFiles? {
        guard let tlsCertificate, let tlsKey else { return nil }
        return TLSFiles(certificate: tlsCertificate, key: tlsKey)
    }

    /// Returns the certificate, or nil without TLS.
    func certificate() throws -> ServerCertificate? {
        guard let tls else { return nil }
        do {
            return try ServerCertificate(certificateFile: tls.certificate, keyFile: tls.key)
        } catch {
            throw SettingsError(error.sentence)
        }
    }

    /// Returns the keys that verify tokens, and sign them if Postline manages the accounts.
    func tokenKeys() async throws -> TokenKeys {
        do {
            if let jwksFile {
                guard accountProvider == .external else {
                    throw SettingsError("POSTLINE_JWKS_FILE goes with POSTLINE_AUTH=external: public keys cannot sign.")
                }
                guard let jwks = try? String(contentsOfFile: jwksFile, encoding: .utf8) else {
                    throw SettingsError("POSTLINE_JWKS_FILE cannot be used: \(jwksFile) cannot be read.")
                }
                return try await TokenKeys(jwks: jwks, issuer: jwtIssuer, audience: jwtAudience)
            }
            guard let jwtSecret else {
                let other = accountProvider == .external ? ", or POSTLINE_JWKS_FILE to a set of public keys" : ""
                throw SettingsError("No token secret: set POSTLINE_JWT_SECRET to at least 32 random bytes\(other).")
            }
            return try TokenKeys(
                secret: jwtSecret, issuer: jwtIssuer, audience: jwtAudience,
                ignoringKeyID: accountProvider == .external)
        } catch let error as TokenKeysError {
            throw SettingsError(
                "\(jwksFile == nil ? "POSTLINE_JWT_SECRET" : "POSTLINE_JWKS_FILE") cannot be used: \(error).")
        }
    }
}
