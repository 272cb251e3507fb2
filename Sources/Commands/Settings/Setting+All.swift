import Accounts
import DatabaseAccess
import Gateway
import LineServer
import Logging
import Messaging

extension Setting {
    /// All settings, in the order of the help and the documentation.
    static let all: [Setting] =
        database + lines + http + operations + accounts + mail + push + media + safety + bounds + timeouts + log

    private static let database = [
        Setting(
            "database_url", \.databaseURL, .connectionString, otherwise: "none, and `dev` has its own",
            "The libpq connection string or URL of the database, as the role `postline` or a member of its roles."),
        Setting(
            "listen_database_url", \.listenDatabaseURL, .connectionString, otherwise: "as --database-url",
            """
            A direct connection to PostgreSQL, if --database-url leads to a pooler in transaction mode such as \
            PgBouncer. Each node uses three connections. `serve` checks at startup whether it is needed.
            """),
        Setting(
            "replica_database_url", \.replicaDatabaseURL, .connectionString, otherwise: "none",
            """
            A streaming replica (hot standby) of the database. While it keeps up, lists, sync pages and the feed are \
            read from it, otherwise from the database (docs/scaling.md).
            """),
        Setting(
            "admin_database_url", \.adminDatabaseURL, .connectionString, otherwise: "as --database-url",
            "The owner's connection, for `migrate` and `admin`. `migrate` creates the role of --database-url."),
        Setting(
            "pool_size", \.poolSize, .integer(in: 1...1_000),
            "The number of database connections for requests."),
    ]

    private static let lines = [
        Setting(
            "host", \.lines.host, .host,
            "The address on which the line protocol is served."),
        Setting(
            "port", \.lines.port, .port,
            "The port on which the line protocol is served."),
        Setting(
            "tls_certificate", \.tlsCertificate, .file,
            """
            The certificate chain (PEM) for the line protocol and HTTP (TLS 1.2 or later). It is reloaded on SIGHUP \
            for new connections; open ones keep theirs.
            """),
        Setting(
            "tls_key", \.tlsKey, .file,
            "The private key (PEM) of the certificate."),
        Setting(
            "proxy_protocol", \.lines.expectsProxyHeader, .onOff,
            """
            `on` if a load balancer sends a PROXY header (version 2) at the start of each connection, before TLS. \
            Limits and logs then use its address. The port must be reachable by the balancer only, since any client \
            could claim an address.
            """),
    ]

    private static let http = [
        Setting(
            "http_host", \.httpHost, .host, otherwise: "as --host",
            "The address on which HTTP is served: methods, WebSocket and event streams."),
        Setting(
            "http_port", \.httpPort, .portOrOff,
            "The port on which HTTP is served, or `off`."),
        Setting(
            "http_origins", \.gateway.origins, .origins,
            """
            The origins of web pages that may use this server, such as `https://app.example.com`, separated by commas; \
            `*` for all.
            """),
        Setting(
            "http_trusted_proxies", \.gateway.trustedProxies, .networks,
            """
            The addresses and networks of proxies, such as `10.0.0.0/8`, separated by commas. Their `X-Forwarded-For` \
            gives the client's address for limits and logs.
            """),
        Setting(
            "console", \.hasConsole, .onOff,
            "`on` serves the console, a web page for people, at `/` of the HTTP port. `dev` always serves it."),
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
            The accepted host names with a dot for metrics and health, such as `node1.example.com`, separated by \
            commas; `*` for all. IP addresses, names without a dot and names below `.local`, `.internal` and \
            `.localhost` are always accepted.
            """),
    ]

    private static let accounts = [
        Setting(
            "auth", \.accountProvider, .choice,
            """
            The manager of accounts: Postline (`builtin`), or another server whose tokens Postline verifies \
            (`external`).
            """),
        Setting(
            "jwt_secret", \.jwtSecret, .text, otherwise: "none, and `dev` makes its own",
            "The secret that signs and verifies access tokens (HS256), at least 32 bytes."),
        Setting(
            "jwks_file", \.jwksFile, .file,
            "A JWK set that verifies access tokens (RS256, ES256), with --auth external and instead of the secret."),
        Setting(
            "jwt_issuer", \.jwtIssuer, .text,
            "The issuer that tokens must name."),
        Setting(
            "jwt_audience", \.jwtAudience, .text,
            "The audience that tokens must name."),
        Setting(
            "access_token_seconds", \.accessTokenSeconds, .integer(in: 1...31_536_000),
            "The lifetime of an access token."),
        Setting(
            "refresh_reuse_seconds", \.refreshReuseSeconds, .integer(in: 0...3_600),
            """
            The time in which a used refresh token returns the same result again, for clients that lost the response. \
            Later use ends the session. 0 disables it.
            """),
        Setting(
            "apple_client_ids", \.apple.clientIDs, .text, otherwise: "none: Sign in with Apple is off",
            "The bundle ids of apps whose Apple identity tokens are accepted, separated by commas."),
        Setting(
            "apple_keys_url", \.apple.keysURL, .text, otherwise: "Apple's",
            "The URL of the JWK set that verifies Apple's tokens."),
        Setting(
            "apple_keys_file", \.apple.keysFile, .file,
            "A file with that JWK set instead of a URL, for servers that cannot reach Apple."),
    ]

    private static let mail = [
        Setting(
            "mail_from", \.mail.from, .text, otherwise: "none, and `dev` has one",
            "The sender of mails, such as `Chat <chat@example.com>`."),
        Setting(
            "mail_smtp_url", \.mail.smtpURL, .text,
            "The mail server: `smtp://host:587`, or `smtps://host:465` with TLS from the start."),
        Setting(
            "mail_smtp_tls", \.mail.smtpTLS, .onOff,
            "`off` permits an `smtp://` server without encryption (STARTTLS), such as one on the same machine."),
        Setting(
            "mail_smtp_user", \.mail.smtpUser, .text,
            "The user name at the mail server."),
        Setting(
            "mail_smtp_password", \.mail.smtpPassword, .text,
            "The password at the mail server."),
        Setting(
            "mail_webhook_url", \.mail.webhookURL, .text,
            "A URL that receives mails instead of a mail server."),
        Setting(
            "mail_webhook_secret", \.mail.webhookSecret, .text,
            "The secret that signs webhook requests, at least 32 bytes."),
        Setting(
            "mail_dir", \.mail.directory, .text, otherwise: "none, and `dev` has its own",
            "A folder that receives each mail as a file, instead of a mail server."),
        Setting(
            "mail_link_url", \.mail.link, .text, otherwise: "none: mails have the token alone",
            """
            The page of your app that links in mails open, such as `https://app.example.com/account`. \
            `#kind=…&token=…` is appended, or replaces `{kind}` and `{token}`.
            """),
        Setting(
            "mail_texts_file", \.mail.textsFile, .file,
            "The texts of mails by language (JSON), instead of the built-in ones."),
        Setting(
            "mail_authorities_file", \.mail.authoritiesFile, .file,
            "Additional trusted certificates (PEM) for mail servers and webhooks."),
        Setting(
            "sign_in_needs_confirmed_email", \.mail.signInNeedsConfirmedEmail, .onOff,
            "`on` permits sign-in only once the account's address is confirmed."),
    ]

    private static let push = [
        Setting(
            "push_apns_key_file", \.push.apnsKeyFile, .file,
            "The signing key (`.p8`) for Apple's push service."),
        Setting(
            "push_apns_key_id", \.push.apnsKeyID, .text,
            "The key's id, ten characters."),
        Setting(
            "push_apns_team_id", \.push.apnsTeamID, .text,
            "The developer team's id, ten characters."),
        Setting(
            "push_apns_topic", \.push.apnsTopic, .text,
            "The app's bundle id."),
        Setting(
            "push_apns_url", \.push.apnsURL, .text, otherwise: "Apple's, production and sandbox",
            "The URL of Apple's service, for tests."),
        Setting(
            "push_fcm_service_account_file", \.push.fcmServiceAccountFile, .file,
            "The service account (JSON) for Google's push service."),
        Setting(
            "push_fcm_url", \.push.fcmURL, .text, otherwise: "Google's",
            "The URL of Google's service, for tests."),
        Setting(
            "push_webhook_url", \.push.webhookURL, .text,
            "A URL that receives device pushes instead of Apple and Google."),
        Setting(
            "push_webhook_secret", \.push.webhookSecret, .text,
            "The secret that signs webhook requests, at least 32 bytes."),
        Setting(
            "push_previews", \.push.hasPreviews, .onOff,
            "`on` includes the text of messages in device pushes."),
        Setting(
            "push_texts_file", \.push.textsFile, .file,
            "The texts of device pushes by language (JSON), instead of the built-in ones."),
        Setting(
            "push_authorities_file", \.push.authoritiesFile, .file,
            "Additional trusted certificates (PEM) for push services and webhooks."),
    ]

    private static let media = [
        Setting(
            "media_dir", \.media.directory, .text, otherwise: "none, and `dev` has its own",
            "A folder for pictures and other files, served by the HTTP port. All nodes must share it."),
        Setting(
            "media_url", \.media.url, .text, otherwise: "none, and `dev` knows",
            """
            The URL by which apps reach the HTTP port, such as `https://chat.example.com`. Addresses of files begin \
            with it.
            """),
        Setting(
            "media_secret", \.media.secret, .text, otherwise: "as --jwt-secret",
            "The secret that signs addresses of files, at least 32 bytes and the same on every node."),
        Setting(
            "media_max_bytes", \.media.maxBytes, .integer(in: 1_024...1_073_741_824),
            "The maximum size of a picture, in bytes."),
        Setting(
            "media_file_max_bytes", \.media.fileMaxBytes, .integer(in: 1_024...1_073_741_824),
            "The maximum size of a video, an audio or another file, in bytes."),
        Setting(
            "media_bytes_per_user", \.media.bytesPerUser, .integer(in: 1_024...1_125_899_906_842_624),
            "The bytes that all files of a user may have, except those of deleted messages."),
        Setting(
            "media_min_free_bytes", \.media.minFreeBytes, .integer(in: 0...1_125_899_906_842_624),
            otherwise: "1073741824, and 0 in `dev`",
            "The bytes that must stay free on the folder's disk. Below it, uploads fail with `unavailable`."),
        Setting(
            "media_s3_endpoint", \.media.s3Endpoint, .text,
            "An S3-compatible store instead of a folder, such as `https://s3.eu-central-1.amazonaws.com`."),
        Setting(
            "media_s3_region", \.media.s3Region, .text,
            "The store's region."),
        Setting(
            "media_s3_bucket", \.media.s3Bucket, .text,
            "The private bucket for files of messages."),
        Setting(
            "media_s3_public_bucket", \.media.s3PublicBucket, .text, otherwise: "as --media-s3-bucket",
            "The bucket for avatars. Everything below `avatars/` must be publicly readable."),
        Setting(
            "media_s3_public_url", \.media.s3PublicURL, .text,
            "The public URL of that bucket."),
        Setting(
            "media_s3_access_key_id", \.media.s3AccessKeyID, .text,
            "The access key's id."),
        Setting(
            "media_s3_secret_access_key", \.media.s3SecretAccessKey, .text,
            "The secret access key."),
        Setting(
            "media_s3_authorities_file", \.media.s3AuthoritiesFile, .file,
            "Additional trusted certificates (PEM) for the store."),
    ]

    private static let safety = [
        Setting(
            "contact_url", \.lines.contact, .contact,
            "How users reach the operator: an https: or mailto: URL, which clients are told."),
        Setting(
            "message_retention_days", \.safety.messageRetentionDays, .integer(in: 1...36_500),
            "The days after which messages are deleted. Without it they are kept."),
        Setting(
            "report_retention_days", \.safety.retentionDays, .integer(in: 1...3_650),
            "The days after which a closed report loses its evidence and comments."),
        Setting(
            "report_webhook_url", \.safety.webhookURL, .text,
            "A URL that is told of each new report."),
        Setting(
            "report_webhook_secret", \.safety.webhookSecret, .text,
            "The secret that signs webhook requests, at least 32 bytes."),
        Setting(
            "report_authorities_file", \.safety.authoritiesFile, .file,
            "Additional trusted certificates (PEM) for that webhook."),
        Setting(
            "filter_webhook_url", \.safety.filter.webhookURL, .text,
            "A URL that decides about each message that the filter holds."),
        Setting(
            "filter_webhook_secret", \.safety.filter.webhookSecret, .text,
            "The secret that signs its requests, at least 32 bytes."),
        Setting(
            "filter_webhook_default", \.safety.filter.fallback, .choice,
            "The decision if that webhook makes none within 2 seconds: hold (for a moderator), release or reject."),
        Setting(
            "filter_authorities_file", \.safety.filter.authoritiesFile, .file,
            "Additional trusted certificates (PEM) for that webhook."),
    ]

    private static let bounds = [
        Setting(
            "max_connections", \.lines.maxConnections, .integer(in: 1...1_000_000),
            "The maximum number of client connections."),
        Setting(
            "max_connections_per_address", \.lines.maxConnectionsPerAddress, .integer(in: 1...1_000_000),
            otherwise: "as many as there may be in all",
            """
            The maximum number of connections from one address. Clients behind a carrier's NAT or a load balancer \
            share one.
            """),
        Setting(
            "max_line_bytes", \.lines.maxLineBytes, .integer(in: 256...1_048_576),
            "The maximum size of a request line, in bytes."),
        Setting(
            "max_unwritten_bytes", \.lines.maxUnwrittenBytes, .integer(in: 1_048_576...1_099_511_627_776),
            """
            The maximum size of requests and responses queued for all clients together. Beyond it, the clients with \
            the most are disconnected.
            """),
        Setting(
            "max_queue_bytes", \.lines.maxQueueBytes, .integer(in: 1_024...1_073_741_824),
            "The maximum size of pushes queued for one client, in bytes."),
        Setting(
            "max_in_flight", \.lines.maxInFlight, .integer(in: 1...10_000),
            "The maximum number of unanswered requests per connection."),
        Setting(
            "rate_limits", \.hasRateLimits, .onOff,
            "`off` disables the ten rate limits below, for load tests."),
        Setting(
            "failed_logins_per_minute", \.rates.failedLoginsPerMinute, rate,
            "Wrong passwords per account, and password checks per session, on each node."),
        Setting(
            "sign_ins_per_minute", \.rates.signInsPerMinute, rate,
            "Sign-ins and registrations per address (IPv6: per /64), on each node."),
        Setting(
            "sends_per_second", \.rates.sendsPerSecond, rate,
            "Messages per user on average, and separately as many other changes, on each node."),
        Setting(
            "send_burst", \.rates.sendBurst, rate,
            "Messages per user at once, and separately as many other changes, on each node."),
        Setting(
            "text_bytes_per_second", \.rates.textBytesPerSecond, rate,
            "Bytes of messages per user, and of all guests at one address, on average, on each node; "
                + "64 times as many at once."),
        Setting(
            "searches_per_second", \.rates.searchesPerSecond, rate,
            "Searches per user, on each node."),
        Setting(
            "mails_per_hour", \.rates.mailsPerHour, rate,
            "Mails of one kind per email address."),
        Setting(
            "mail_requests_per_hour", \.rates.mailRequestsPerHour, rate,
            "Mails requested per address (IPv6: per /64), registrations included, on each node."),
        Setting(
            "media_bytes_per_day", \.rates.mediaBytesPerDay, .integer(in: 1...1_125_899_906_842_624),
            "Bytes uploaded per user, and 25 times as many per address (IPv6: per /64), on each node."),
        Setting(
            "guest_media_bytes_per_day", \.rates.guestMediaBytesPerDay, .integer(in: 1...1_125_899_906_842_624),
            "Bytes uploaded by guests per address (IPv6: per /64), on each node."),
    ]

    private static let rate = SettingForm<Int>.integer(in: 1...1_000_000)

    private static let timeouts = [
        Setting(
            "authentication_seconds", \.lines.authenticationTimeout, .seconds(in: 1...86_400),
            "The time in which a connection must authenticate."),
        Setting(
            "ping_seconds", \.lines.pingInterval, .seconds(in: 1...86_400),
            "The idle time after which a client is pinged."),
        Setting(
            "slow_consumer_seconds", \.lines.slowConsumerTimeout, .seconds(in: 1...86_400),
            "The time in which a client must read what is queued for it."),
        Setting(
            "statement_timeout_seconds", \.limits.statement, .seconds(in: 1...3_600),
            "The maximum duration of a statement."),
        Setting(
            "lock_timeout_seconds", \.limits.lock, .seconds(in: 1...3_600),
            "The maximum time that a statement waits for a lock."),
    ]

    private static let log = [
        Setting(
            "log_level", \.logLevel, .choice,
            "`trace`, `debug`, `info`, `notice`, `warning`, `error` or `critical`.")
    ]
}
