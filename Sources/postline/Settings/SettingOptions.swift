internal import ArgumentParser

/// The flags of a server. Each is also an environment variable (`POSTLINE_HOST`) and a key of the config file (`host`).
struct SettingOptions: ParsableArguments {
    @Option(help: "A JSON file of settings, such as {\"port\": 7432}.", completion: .file())
    var config: String?

    @Option(help: "libpq connection string or URL of the database, as the role postline or a member of its roles.")
    var databaseURL: String?

    @Option(help: "Leads to PostgreSQL itself, where --database-url leads to a pooler. Without it, --database-url.")
    var listenDatabaseURL: String?

    @Option(help: "What `migrate` connects with: the owner. Without it, --database-url.")
    var adminDatabaseURL: String?

    @Option(help: "The address on which lines are served. Default: 127.0.0.1.")
    var host: String?

    @Option(help: "The port on which lines are served. Default: 7432.")
    var port: String?

    @Option(
        help: "The certificate chain (PEM) with which lines are encrypted; read again on SIGHUP.", completion: .file())
    var tlsCertificate: String?

    @Option(help: "The private key (PEM) of that certificate.", completion: .file())
    var tlsKey: String?

    @Option(help: "on where a balancer begins each connection with a PROXY header (version 2). Default: off.")
    var proxyProtocol: String?

    @Option(help: "The address on which metrics and health are served. Default: 127.0.0.1.")
    var operationsHost: String?

    @Option(help: "The port on which metrics and health are served, or off. Default: 7480.")
    var operationsPort: String?

    @Option(help: "Who keeps the accounts: builtin (default) or external.")
    var auth: String?

    @Option(help: "What signs and verifies access tokens (HS256): at least 32 bytes.")
    var jwtSecret: String?

    @Option(help: "A JWK set that verifies access tokens (RS256, ES256); with --auth external.", completion: .file())
    var jwksFile: String?

    @Option(help: "The issuer that a token must name. Default: postline.")
    var jwtIssuer: String?

    @Option(help: "The audience that a token must name. Default: authenticated.")
    var jwtAudience: String?

    @Option(help: "For how long an access token is good. Default: 3600.")
    var accessTokenSeconds: String?

    @Option(help: "For how long a refresh token that was just used gets the same answer again. Default: 10.")
    var refreshReuseSeconds: String?

    @Option(help: "Connections to the database for requests. Default: 8.")
    var poolSize: String?

    @Option(help: "Connections of clients at most. Default: 20000.")
    var maxConnections: String?

    @Option(help: "Connections from one address at most. Default: as many as there may be in all.")
    var maxConnectionsPerAddress: String?

    @Option(help: "A request line's bytes at most. Default: 65536.")
    var maxLineBytes: String?

    @Option(help: "The bytes of pushes that wait for one client at most. Default: 1048576.")
    var maxQueueBytes: String?

    @Option(help: "How long a connection may stay unauthenticated. Default: 60.")
    var authenticationSeconds: String?

    @Option(help: "After how much quiet a client is pinged. Default: 30.")
    var pingSeconds: String?

    @Option(help: "Unanswered requests of one connection at most. Default: 64.")
    var maxInFlight: String?

    @Option(help: "on (default), or off for load tests: whether the five that follow hold.")
    var rateLimits: String?

    @Option(help: "Wrong passwords of one account. Default: 5.")
    var failedLoginsPerMinute: String?

    @Option(help: "Sign-ins and registrations of one address. Default: 60.")
    var signInsPerMinute: String?

    @Option(help: "Messages of one user, over time. Default: 20.")
    var sendsPerSecond: String?

    @Option(help: "Messages of one user at once. Default: 100.")
    var sendBurst: String?

    @Option(help: "Searches of one user. Default: 5.")
    var searchesPerSecond: String?

    @Option(help: "How long a client that reads too slowly is waited for. Default: 30.")
    var slowConsumerSeconds: String?

    @Option(help: "How long a statement may take. Default: 10.")
    var statementTimeoutSeconds: String?

    @Option(help: "How long a statement may wait for a lock. Default: 5.")
    var lockTimeoutSeconds: String?

    @Option(help: "trace, debug, info, notice, warning, error or critical. Default: info.")
    var logLevel: String?

    /// The flags that were given, by the names of their keys.
    var given: [String: String] {
        var given: [String: String] = [:]
        for (key, flag) in Self.flags { given[key] = self[keyPath: flag] }
        return given
    }

    /// The keys of all settings, as the config file has them.
    static var keys: Set<String> { Set(flags.map(\.0)) }

    private static var flags: [(String, KeyPath<SettingOptions, String?>)] {
        [
            ("database_url", \.databaseURL), ("listen_database_url", \.listenDatabaseURL),
            ("admin_database_url", \.adminDatabaseURL), ("host", \.host), ("port", \.port),
            ("tls_certificate", \.tlsCertificate), ("tls_key", \.tlsKey),
            ("proxy_protocol", \.proxyProtocol),
            ("operations_host", \.operationsHost), ("operations_port", \.operationsPort),
            ("auth", \.auth), ("jwt_secret", \.jwtSecret), ("jwks_file", \.jwksFile),
            ("jwt_issuer", \.jwtIssuer), ("jwt_audience", \.jwtAudience),
            ("access_token_seconds", \.accessTokenSeconds),
            ("refresh_reuse_seconds", \.refreshReuseSeconds), ("pool_size", \.poolSize),
            ("max_connections", \.maxConnections),
            ("max_connections_per_address", \.maxConnectionsPerAddress), ("max_line_bytes", \.maxLineBytes),
            ("max_queue_bytes", \.maxQueueBytes), ("authentication_seconds", \.authenticationSeconds),
            ("ping_seconds", \.pingSeconds), ("max_in_flight", \.maxInFlight),
            ("rate_limits", \.rateLimits),
            ("failed_logins_per_minute", \.failedLoginsPerMinute), ("sign_ins_per_minute", \.signInsPerMinute),
            ("sends_per_second", \.sendsPerSecond), ("send_burst", \.sendBurst),
            ("searches_per_second", \.searchesPerSecond),
            ("slow_consumer_seconds", \.slowConsumerSeconds),
            ("statement_timeout_seconds", \.statementTimeoutSeconds),
            ("lock_timeout_seconds", \.lockTimeoutSeconds), ("log_level", \.logLevel),
        ]
    }
}
