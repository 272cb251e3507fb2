import Accounts
import FoundationEssentials
import Media
import Messaging

/// The settings of media.
struct MediaSources: Sendable {
    var directory: String?
    var url: String?

    /// True if apps reach the HTTP port at its listening address, as in `dev`.
    var isAtHand = false
    var secret: String?
    var maxBytes = 10 << 20
    var fileMaxBytes = 100 << 20
    var bytesPerUser = 10 << 30

    /// The bytes that must stay free on the disk; nil for the default of ``settings(jwtSecret:)``. It keeps room for
    /// the WAL of a PostgreSQL on the same disk.
    var minFreeBytes: Int?
    private static let minFreeBytesOfServe = 1 << 30
    var s3Endpoint: String?
    var s3Region = "us-east-1"
    var s3Bucket: String?
    var s3PublicBucket: String?
    var s3PublicURL: String?
    var s3AccessKeyID: String?
    var s3SecretAccessKey: String?
    var s3AuthoritiesFile: String?

    private var limits: MediaLimits {
        MediaLimits(pictures: maxBytes, others: fileMaxBytes, user: bytesPerUser)
    }

    /// Returns the media configuration, or nil if media are off.
    ///
    /// - Parameter jwtSecret: the secret that signs addresses if no other is set.
    /// - Throws: `SettingsError`, which names the setting and its valid values.
    func settings(jwtSecret: String?) throws(SettingsError) -> MediaSettings? {
        let s3 = [
            ("BUCKET", s3Bucket), ("ENDPOINT", s3Endpoint), ("PUBLIC_URL", s3PublicURL),
            ("ACCESS_KEY_ID", s3AccessKeyID), ("SECRET_ACCESS_KEY", s3SecretAccessKey),
        ]
        if s3.contains(where: { $0.1 != nil }) {
            guard directory == nil else {
                throw SettingsError(
                    "Set POSTLINE_MEDIA_DIR or POSTLINE_MEDIA_S3_…, not both: files are in one place.")
            }
            if let missing = s3.first(where: { $0.1 == nil })?.0 {
                throw SettingsError("Files in a store of S3 need POSTLINE_MEDIA_S3_\(missing) too.")
            }
            let (endpoint, publicURL) = (s3Endpoint ?? "", s3PublicURL ?? "")
            try Self.check(endpoint, "POSTLINE_MEDIA_S3_ENDPOINT")
            try Self.check(publicURL, "POSTLINE_MEDIA_S3_PUBLIC_URL")
            return .s3(
                .init(
                    endpoint: endpoint, region: s3Region, bucket: s3Bucket ?? "",
                    publicBucket: s3PublicBucket ?? s3Bucket ?? "", publicURL: publicURL,
                    accessKeyID: s3AccessKeyID ?? "", secretAccessKey: s3SecretAccessKey ?? "", limits: limits,
                    authorities: s3AuthoritiesFile))
        }
        guard let directory else { return nil }
        guard url != nil || isAtHand else {
            throw SettingsError(
                "POSTLINE_MEDIA_DIR needs POSTLINE_MEDIA_URL: how apps reach the HTTP port, such as "
                    + "https://chat.example.com.")
        }
        if let url { try Self.check(url, "POSTLINE_MEDIA_URL") }
        guard let secret = secret ?? jwtSecret else {
            throw SettingsError("POSTLINE_MEDIA_DIR needs POSTLINE_MEDIA_SECRET, or POSTLINE_JWT_SECRET.")
        }
        guard secret.utf8.count >= TokenKeys.minSecretBytes else {
            let name = self.secret == nil ? "POSTLINE_JWT_SECRET" : "POSTLINE_MEDIA_SECRET"
            throw SettingsError(
                "\(name) must have at least \(TokenKeys.minSecretBytes) bytes: it has \(secret.utf8.count).")
        }
        return .folder(
            .init(
                directory: directory, url: url, secret: secret, limits: limits,
                minFreeBytes: minFreeBytes ?? (isAtHand ? 0 : Self.minFreeBytesOfServe)))
    }

    private static func check(_ url: String, _ name: String) throws(SettingsError) {
        guard url.hasPrefix("https://") || url.hasPrefix("http://"), let parts = URL(string: url), parts.host() != nil,
            parts.query() == nil, parts.fragment() == nil
        else { throw SettingsError("\(name) must be a URL that begins with https:// or http://, without a query.") }
    }
}

extension MediaSettings {
    /// Returns the configured store.
    ///
    /// - Throws: `SettingsError` if it cannot be used.
    func store() throws(SettingsError) -> any MediaStore {
        do {
            switch self {
            case .folder(let settings): return try FolderStore(settings)
            case .s3(let settings): return try S3Store(settings)
            }
        } catch {
            throw SettingsError("\(setting) cannot be used: \(error)")
        }
    }

    private var setting: String {
        switch self {
        case .folder: "POSTLINE_MEDIA_DIR"
        case .s3: "POSTLINE_MEDIA_S3_ENDPOINT"
        }
    }

    /// The origins from which the console loads pictures, in addition to its own server.
    var origins: [String] {
        switch self {
        case .folder: []
        case .s3(let settings): [settings.endpoint, settings.publicURL].compactMap(Self.origin)
        }
    }

    private static func origin(_ url: String) -> String? {
        guard let url = URL(string: url), let scheme = url.scheme, let host = url.host() else { return nil }
        return "\(scheme)://\(host)" + (url.port.map { ":\($0)" } ?? "")
    }
}
