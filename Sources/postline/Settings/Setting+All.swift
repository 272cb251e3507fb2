internal import Gateway
internal import LineServer
internal import Logging
internal import Messaging

extension Setting {
    /// All settings, in the order in which help and the README show them.
    static let all: [Setting] =
        database + lines + http + operations + accounts + mail + push + media + bounds + timeouts + log

    private static let database = [
        Setting(
            "database_url", \.databaseURL, .connectionString, otherwise: "none, and `dev` has its own",
            "libpq connection string or URL of the database, as the role `postline` or a member of its roles."),
        Setting(
            "listen_database_url", \.listenDatabaseURL, .connectionString, otherwise: "as --database-url",
            """
            Leads to PostgreSQL itself, for three connections a node, where --database-url leads to a pooler in \
            transaction mode, such as PgBouncer. `serve` finds out at its start whether it is needed.
            """),
        Setting(
            "replica_database_url", \.replicaDatabaseURL, .connectionString, otherwise: "none",
            """
            Leads to one streaming replica (hot standby) of the database: lists, pages of changes and the feed are read \
            there as long as it keeps up, and from the database as long as it does not (docs/scaling.md).
            """),
        Setting(
            "admin_database_url", \.adminDatabaseURL, .connectionString, otherwise: "as --database-url",
            "What `migrate` and `admin` connect with: the owner. `migrate` makes the role of --database-url."),
        Setting(
            "pool_size", \.poolSize, .integer(in: 1...1_000), "Connections to the database for requests."),
    ]

    private static let lines = [
        Setting("host", \.lines.host, .host, "The address on which lines are served."),
        Setting("port", \.lines.port, .port, "The port on which lines are served."),
        Setting(
            "tls_certificate", \.tlsCertificate, .file,
            """
            The certificate chain (PEM) with which lines and HTTP are encrypted (TLS 1.2 or later). It is read again on SIGHUP: \
            new connections get what is in it, those there go on.
            """),
        Setting("tls_key", \.tlsKey, .file, "The private key (PEM) of that certificate."),
        Setting(
            "proxy_protocol", \.lines.expectsProxyHeader, .onOff,
            """
            `on` where a balancer begins each connection with a PROXY header (version 2), before TLS: the address in \
            it is the client's for limits and logs. Whoever reaches the port can claim any address, so it must be \
            reachable by the balancer alone.
            """),
    ]

    private static let http = [
        Setting(
            "http_host", \.httpHost, .host, otherwise: "as --host",
            "The address on which the methods, WebSocket and event streams are served over HTTP."),
        Setting("http_port", \.httpPort, .portOrOff, "The port on which HTTP is served, or `off`."),
        Setting(
            "http_origins", \.gateway.origins, .origins,
            """
            The origins of web pages that may use this server, such as `https://app.example.com`, separated by commas; \
            `*` for all.
            """),
        Setting(
            "http_trusted_proxies", \.gateway.trustedProxies, .networks,
            """
            The addresses and networks of proxies, such as `10.0.0.0/8`, separated by commas: what they say in \
            `X-Forwarded-For` is the client's address for limits and logs.
            """),
        Setting(
            "console", \.hasConsole, .onOff,
            "`on` for the console, a page for people, at `/` of the HTTP port; `dev` always has it."),
    ]

    private static let operations = [
        Setting(
            "operations_host", \.operationsHost, .host,
            "The address on which metrics and health are served over HTTP."),
        Setting(
            "operations_port", \.operationsPort, .portOrOff,
            "The port on which metrics and health are served, or `off`."),
        Setting(
            "operations_names", \.operationsNames, .names,
            """
            The names with a dot under which metrics and health are asked for, such as `node1.example.com`, separated by \
            commas; `*` for all. IP addresses, names without a dot and names below `.local`, `.internal` and \
            `.localhost` are always answered.
            """),
    ]

    private static let accounts = [
        Setting(
            "auth", \.accountProvider, .choice,
            """
            Who keeps the accounts: Postline (`builtin`), or another server whose tokens Postline verifies (`external`).
            """),
        Setting(
            "jwt_secret", \.jwtSecret, .text, otherwise: "none, and `dev` makes its own",
            "What signs and verifies access tokens (HS256): at least 32 bytes."),
        Setting(
            "jwks_file", \.jwksFile, .file,
            "A JWK set that verifies access tokens (RS256, ES256), with --auth external and in place of the secret."),
        Setting("jwt_issuer", \.jwtIssuer, .text, "The issuer that a token must name."),
        Setting("jwt_audience", \.jwtAudience, .text, "The audience that a token must name."),
        Setting(
            "access_token_seconds", \.accessTokenSeconds, .integer(in: 1...31_536_000),
            "For how long an access token is good."),
        Setting(
            "refresh_reuse_seconds", \.refreshReuseSeconds, .integer(in: 0...3_600),
            """
            For how long a refresh token that was just used gets the same answer again, for a client that lost it; \
            used later, it ends the session. 0 for never.
            """),
        Setting(
            "apple_client_ids", \.apple.clientIDs, .text, otherwise: "none: nobody signs in with Apple",
            "The apps' bundle ids, separated by commas, for which Apple's identity tokens are taken."),
        Setting(
            "apple_keys_url", \.apple.keysURL, .text, otherwise: "Apple's",
            "Where the keys are that verify them, a JWK set."),
        Setting(
            "apple_keys_file", \.apple.keysFile, .file,
            "A JWK set with those keys, in place of a URL, where a server may not reach Apple."),
    ]

    private static let mail = [
        Setting(
            "mail_from", \.mail.from, .text, otherwise: "none, and `dev` has one",
            "The address that mails are from, such as `Chat <chat@example.com>`."),
        Setting(
            "mail_smtp_url", \.mail.smtpURL, .text,
            """
            The mail server that takes mails: `smtp://host:587`, or `smtps://host:465` where it encrypts from the start.
            """),
        Setting(
            "mail_smtp_tls", \.mail.smtpTLS, .onOff,
            "`off` where an `smtp://` server need not encrypt (STARTTLS), such as one on the same machine."),
        Setting("mail_smtp_user", \.mail.smtpUser, .text, "Who signs in to it."),
        Setting("mail_smtp_password", \.mail.smtpPassword, .text, "With what."),
        Setting(
            "mail_webhook_url", \.mail.webhookURL, .text,
            "In place of a mail server: a server of your own that takes mails, or a function of your cloud."),
        Setting(
            "mail_webhook_secret", \.mail.webhookSecret, .text,
            "What requests to it are signed with: at least 32 bytes."),
        Setting(
            "mail_dir", \.mail.directory, .text, otherwise: "none, and `dev` has its own",
            "In place of a mail server: a folder, in which each mail becomes a file."),
        Setting(
            "mail_link_url", \.mail.link, .text, otherwise: "none: mails have the token alone",
            """
            The page of your app that a mail's link opens, such as `https://app.example.com/account`: behind it stands \
            `#kind=…&token=…`, or in it `{kind}` and `{token}` where they are to be.
            """),
        Setting(
            "mail_texts_file", \.mail.textsFile, .file,
            "What mails say, by language (JSON), in place of the built-in texts."),
        Setting(
            "mail_authorities_file", \.mail.authoritiesFile, .file,
            "Certificates (PEM) to trust in those who take mails, beside those of the system."),
        Setting(
            "sign_in_needs_confirmed_email", \.mail.signInNeedsConfirmedEmail, .onOff,
            "`on` where one signs in only once the account's address is confirmed."),
    ]

    private static let push = [
        Setting(
            "push_apns_key_file", \.push.apnsKeyFile, .file,
            "The signing key (`.p8`) with which Apple's service takes pushes."),
        Setting("push_apns_key_id", \.push.apnsKeyID, .text, "That key's id, of ten characters."),
        Setting("push_apns_team_id", \.push.apnsTeamID, .text, "The id of the developer's team, of ten characters."),
        Setting("push_apns_topic", \.push.apnsTopic, .text, "The app's bundle id."),
        Setting(
            "push_apns_url", \.push.apnsURL, .text, otherwise: "Apple's, production and sandbox",
            "Where Apple's service is, for tests."),
        Setting(
            "push_fcm_service_account_file", \.push.fcmServiceAccountFile, .file,
            "The service account (JSON) with which Google's service takes pushes."),
        Setting(
            "push_fcm_url", \.push.fcmURL, .text, otherwise: "Google's", "Where Google's service is, for tests."),
        Setting(
            "push_webhook_url", \.push.webhookURL, .text,
            "A server of your own that takes pushes, or a function of your cloud."),
        Setting(
            "push_webhook_secret", \.push.webhookSecret, .text,
            "What requests to it are signed with: at least 32 bytes."),
        Setting(
            "push_previews", \.push.hasPreviews, .onOff, "`on` for pushes that carry the messages' texts."),
        Setting(
            "push_texts_file", \.push.textsFile, .file,
            "What pushes say, by language (JSON), in place of the built-in texts."),
        Setting(
            "push_authorities_file", \.push.authoritiesFile, .file,
            "Certificates (PEM) to trust in those who take pushes, beside those of the system."),
    ]

    private static let media = [
        Setting(
            "media_dir", \.media.directory, .text, otherwise: "none, and `dev` has its own",
            "A folder for pictures, which the HTTP port serves. Several nodes share it."),
        Setting(
            "media_url", \.media.url, .text, otherwise: "none, and `dev` knows",
            "How apps reach the HTTP port, such as `https://chat.example.com`: what pictures' addresses begin with."),
        Setting(
            "media_secret", \.media.secret, .text, otherwise: "as --jwt-secret",
            "What pictures' addresses are signed with: at least 32 bytes, the same on every node."),
        Setting(
            "media_max_bytes", \.media.maxBytes, .integer(in: 1_024...1_073_741_824), "A picture's bytes at most."),
        Setting(
            "media_min_free_bytes", \.media.minFreeBytes, .integer(in: 0...1_125_899_906_842_624),
            otherwise: "1073741824, and 0 in `dev`",
            "Bytes that stay free on the folder's disk: with less, no picture is taken (`unavailable`)."),
        Setting(
            "media_s3_endpoint", \.media.s3Endpoint, .text,
            "In place of a folder: a store that speaks S3, such as `https://s3.eu-central-1.amazonaws.com`."),
        Setting("media_s3_region", \.media.s3Region, .text, "Its region."),
        Setting(
            "media_s3_bucket", \.media.s3Bucket, .text, "The bucket of messages' pictures, which nobody else reads."),
        Setting(
            "media_s3_public_bucket", \.media.s3PublicBucket, .text, otherwise: "as --media-s3-bucket",
            "The bucket of avatars, of which everybody may read what begins with `avatars/`."),
        Setting("media_s3_public_url", \.media.s3PublicURL, .text, "What everybody reads that bucket by."),
        Setting("media_s3_access_key_id", \.media.s3AccessKeyID, .text, "The key's id."),
        Setting("media_s3_secret_access_key", \.media.s3SecretAccessKey, .text, "The key."),
        Setting(
            "media_s3_authorities_file", \.media.s3AuthoritiesFile, .file,
            "Certificates (PEM) to trust in the store, beside those of the system."),
    ]

    private static let bounds = [
        Setting(
            "max_connections", \.lines.maxConnections, .integer(in: 1...1_000_000),
            "Connections of clients at most."),
        Setting(
            "max_connections_per_address", \.lines.maxConnectionsPerAddress, .integer(in: 1...1_000_000),
            otherwise: "as many as there may be in all",
            "Connections from one address at most; many clients share one behind a carrier's NAT or a balancer."),
        Setting(
            "max_line_bytes", \.lines.maxLineBytes, .integer(in: 256...1_048_576),
            "A request line's bytes at most."),
        Setting(
            "max_unwritten_bytes", \.lines.maxUnwrittenBytes, .integer(in: 1_048_576...1_099_511_627_776),
            "Answers that wait for all clients together: beyond it those that most waits for are cut off."),
        Setting(
            "max_queue_bytes", \.lines.maxQueueBytes, .integer(in: 1_024...1_073_741_824),
            "The bytes of pushes that wait for one client at most."),
        Setting(
            "max_in_flight", \.lines.maxInFlight, .integer(in: 1...10_000),
            "Unanswered requests of one connection at most."),
        Setting(
            "rate_limits", \.hasRateLimits, .onOff, "`off` for load tests: the eight that follow do not hold."),
        Setting(
            "failed_logins_per_minute", \.rates.failedLoginsPerMinute, rate,
            "Wrong passwords of one account, and passwords checked in one session, on each node."),
        Setting(
            "sign_ins_per_minute", \.rates.signInsPerMinute, rate,
            "Sign-ins and registrations of one address (IPv6: of one /64), on each node."),
        Setting(
            "sends_per_second", \.rates.sendsPerSecond, rate,
            "Messages of one user, over time, and as many other changes, counted apart, on each node."),
        Setting(
            "send_burst", \.rates.sendBurst, rate,
            "Messages of one user at once, and as many other changes, counted apart, on each node."),
        Setting("searches_per_second", \.rates.searchesPerSecond, rate, "Searches of one user, on each node."),
        Setting("mails_per_hour", \.rates.mailsPerHour, rate, "Mails of one kind to one email address."),
        Setting(
            "mail_requests_per_hour", \.rates.mailRequestsPerHour, rate,
            "Mails that one address (IPv6: one /64) asks for, on each node."),
        Setting(
            "guest_media_bytes_per_day", \.rates.guestMediaBytesPerDay, .integer(in: 1...1_125_899_906_842_624),
            "Bytes of pictures that guests upload from one address (IPv6: one /64), on each node."),
    ]

    private static let rate = SettingForm<Int>.integer(in: 1...1_000_000)

    private static let timeouts = [
        Setting(
            "authentication_seconds", \.lines.authenticationTimeout, .seconds(in: 1...86_400),
            "How long a connection may stay unauthenticated."),
        Setting(
            "ping_seconds", \.lines.pingInterval, .seconds(in: 1...86_400),
            "After how much quiet a client is pinged."),
        Setting(
            "slow_consumer_seconds", \.lines.slowConsumerTimeout, .seconds(in: 1...86_400),
            "How long a client that reads too slowly is waited for."),
        Setting(
            "statement_timeout_seconds", \.limits.statement, .seconds(in: 1...3_600),
            "How long a statement may take."),
        Setting(
            "lock_timeout_seconds", \.limits.lock, .seconds(in: 1...3_600),
            "How long a statement may wait for a lock."),
    ]

    private static let log = [
        Setting(
            "log_level", \.logLevel, .choice,
            "`trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.")
    ]
}
