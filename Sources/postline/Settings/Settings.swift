internal import Configuration
internal import FoundationEssentials
internal import LineServer
internal import Logging
internal import Messaging

/// The settings of a server: of its flags, else the environment, else the config file, else the defaults.
struct Settings: Sendable {
    var databaseURL: String?

    /// Where the feed listens and looks, if that is another way to the database.
    var listenDatabaseURL: String?
    var adminDatabaseURL: String?
    var host: String
    var port: Int
    /// Nil where lines are not encrypted.
    var tls: TLSFiles?
    var proxyProtocol: Switch
    var operationsHost: String
    /// Nil where metrics and health are not served.
    var operationsPort: Int?
    var accountKeeper: AccountKeeper
    var jwtSecret: String?
    var jwksFile: String?
    var jwtIssuer: String
    var jwtAudience: String
    var accessTokenSeconds: Int
    var refreshReuseSeconds: Int
    var poolSize: Int
    var maxConnections: Int
    var maxConnectionsPerAddress: Int
    var maxLineBytes: Int
    var maxQueueBytes: Int
    var authenticationSeconds: Int
    var pingSeconds: Int
    var maxInFlight: Int
    var rateLimits: Switch
    var rates = Rates()
    var slowConsumerSeconds: Int
    var limits: StatementLimits
    var logLevel: Logger.Level

    /// Environment variables that begin as settings do and are none, in order.
    let unknownVariables: [String]

    /// - Throws: `SettingsError`, which names the setting and what it must be.
    init(_ options: SettingOptions) async throws {
        let environment = EnvironmentVariablesProvider().prefixKeys(with: ["postline"])
        let flags = Self.provider(of: options.given)
        var providers: [any ConfigProvider] = [flags, environment]
        let named = options.config ?? ConfigReader(provider: environment).string(forKey: "config")
        if let path = named, !path.isEmpty {
            providers.append(Self.provider(of: try ConfigFile(path).values))
        }
        providers.append(EnvironmentVariablesProvider(environmentVariables: Self.defaults))
        let reader = SettingsReader(config: ConfigReader(providers: providers))

        databaseURL = try reader.connectionString("database_url")
        listenDatabaseURL = try reader.connectionString("listen_database_url")
        adminDatabaseURL = try reader.connectionString("admin_database_url")
        host = try reader.host("host")
        port = try reader.integer("port", in: 0...65_535)
        tls = try reader.tlsFiles()
        proxyProtocol = try reader.choice("proxy_protocol")
        operationsHost = try reader.host("operations_host")
        operationsPort = try reader.portOrOff("operations_port")
        accountKeeper = try reader.choice("auth")
        jwtSecret = reader.text("jwt_secret")
        jwksFile = reader.text("jwks_file")
        guard jwtSecret == nil || jwksFile == nil else {
            throw SettingsError(
                "Set POSTLINE_JWT_SECRET or POSTLINE_JWKS_FILE, not both: one of them verifies access tokens.")
        }
        jwtIssuer = try reader.required("jwt_issuer")
        jwtAudience = try reader.required("jwt_audience")
        accessTokenSeconds = try reader.integer("access_token_seconds", in: 1...31_536_000)
        refreshReuseSeconds = try reader.integer("refresh_reuse_seconds", in: 0...3_600)
        poolSize = try reader.integer("pool_size", in: 1...1_000)
        maxConnections = try reader.integer("max_connections", in: 1...1_000_000)
        maxConnectionsPerAddress = try reader.integer("max_connections_per_address", in: 1...1_000_000)
        maxLineBytes = try reader.integer("max_line_bytes", in: 256...1_048_576)
        maxQueueBytes = try reader.integer("max_queue_bytes", in: 1_024...1_073_741_824)
        authenticationSeconds = try reader.integer("authentication_seconds", in: 1...86_400)
        pingSeconds = try reader.integer("ping_seconds", in: 1...86_400)
        maxInFlight = try reader.integer("max_in_flight", in: 1...10_000)
        rateLimits = try reader.choice("rate_limits")
        rates.failedLoginsPerMinute = try reader.integer("failed_logins_per_minute", in: 1...1_000_000)
        rates.signInsPerMinute = try reader.integer("sign_ins_per_minute", in: 1...1_000_000)
        rates.sendsPerSecond = try reader.integer("sends_per_second", in: 1...1_000_000)
        rates.sendBurst = try reader.integer("send_burst", in: 1...1_000_000)
        rates.searchesPerSecond = try reader.integer("searches_per_second", in: 1...1_000_000)
        slowConsumerSeconds = try reader.integer("slow_consumer_seconds", in: 1...86_400)
        limits = StatementLimits(
            statement: .seconds(try reader.integer("statement_timeout_seconds", in: 1...3_600)),
            lock: .seconds(try reader.integer("lock_timeout_seconds", in: 1...3_600)))
        logLevel = try reader.choice("log_level")
        unknownVariables = ProcessInfo.processInfo.environment.keys
            .filter { $0.hasPrefix(SettingNames.prefix) && !SettingNames.isKnown($0) }.sorted()
        try refuseSharedPort()
    }

    /// Texts by key, as one of the places in which settings are looked for.
    private static func provider(of values: [String: String]) -> EnvironmentVariablesProvider {
        EnvironmentVariablesProvider(
            environmentVariables: Dictionary(uniqueKeysWithValues: values.map { ($0.key.uppercased(), $0.value) }))
    }

    /// Lines and metrics cannot be served at one place. Of two names for one address listening finds it out.
    private func refuseSharedPort() throws {
        let hosts = [host, operationsHost]
        let isOnePlace = host == operationsHost || hosts.contains("0.0.0.0") || hosts.contains("::")
        guard port == operationsPort, port != 0, isOnePlace else { return }
        throw SettingsError("POSTLINE_PORT and POSTLINE_OPERATIONS_PORT must not be the same: both are \(port).")
    }

    private static let defaults = [
        "HOST": "127.0.0.1", "PORT": "7432", "PROXY_PROTOCOL": "off", "OPERATIONS_HOST": "127.0.0.1",
        "OPERATIONS_PORT": "7480",
        "AUTH": "builtin", "JWT_ISSUER": "postline",
        "JWT_AUDIENCE": "authenticated", "ACCESS_TOKEN_SECONDS": "3600", "REFRESH_REUSE_SECONDS": "10",
        "POOL_SIZE": "8", "MAX_CONNECTIONS": "20000",
        "MAX_CONNECTIONS_PER_ADDRESS": "1000000", "MAX_LINE_BYTES": "65536", "MAX_QUEUE_BYTES": "1048576",
        "AUTHENTICATION_SECONDS": "60", "PING_SECONDS": "30",
        "MAX_IN_FLIGHT": "64", "RATE_LIMITS": "on",
        "FAILED_LOGINS_PER_MINUTE": "5", "SIGN_INS_PER_MINUTE": "60", "SENDS_PER_SECOND": "20", "SEND_BURST": "100",
        "SEARCHES_PER_SECOND": "5", "SLOW_CONSUMER_SECONDS": "30", "STATEMENT_TIMEOUT_SECONDS": "10",
        "LOCK_TIMEOUT_SECONDS": "5", "LOG_LEVEL": "info",
    ]
}

extension Settings {
    /// - Throws: `SettingsError` where there is none.
    func requireDatabaseURL() throws -> String {
        guard let databaseURL, !databaseURL.isEmpty else {
            throw SettingsError(
                "No database: set POSTLINE_DATABASE_URL, such as postgres://postline@localhost/postline, "
                    + "or run `postline dev`, which brings its own.")
        }
        return databaseURL
    }

    /// What lines are encrypted with; nil where they are not.
    func certificate() throws -> ServerCertificate? {
        guard let tls else { return nil }
        do {
            return try ServerCertificate(certificateFile: tls.certificate, keyFile: tls.key)
        } catch {
            throw SettingsError(error.sentence)
        }
    }

    /// What verifies tokens, and for accounts of our own signs them.
    func tokenKeys() async throws -> TokenKeys {
        do {
            if let jwksFile {
                guard accountKeeper == .external else {
                    throw SettingsError("POSTLINE_JWKS_FILE goes with POSTLINE_AUTH=external: public keys cannot sign.")
                }
                guard let jwks = try? String(contentsOfFile: jwksFile, encoding: .utf8) else {
                    throw SettingsError("POSTLINE_JWKS_FILE cannot be used: \(jwksFile) cannot be read.")
                }
                return try await TokenKeys(jwks: jwks, issuer: jwtIssuer, audience: jwtAudience)
            }
            guard let jwtSecret else {
                let other = accountKeeper == .external ? ", or POSTLINE_JWKS_FILE to a set of public keys" : ""
                throw SettingsError("No token secret: set POSTLINE_JWT_SECRET to at least 32 random bytes\(other).")
            }
            return try await TokenKeys(
                secret: jwtSecret, issuer: jwtIssuer, audience: jwtAudience,
                ignoringKeyID: accountKeeper == .external)
        } catch let error as TokenKeysError {
            throw SettingsError(
                "\(jwksFile == nil ? "POSTLINE_JWT_SECRET" : "POSTLINE_JWKS_FILE") cannot be used: \(error).")
        }
    }
}
