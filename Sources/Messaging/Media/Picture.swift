public import FoundationEssentials

/// A picture as its owner has promised it.
public struct Picture: Sendable, Hashable {
    public let id: ID
    public let purpose: Purpose
    public let type: PictureType

    /// How long it is.
    public let bytes: Int

    /// What a picture is for.
    public enum Purpose: String, Sendable, CaseIterable {
        /// Everybody who has its address sees it.
        case avatar
        /// Members of its conversation see it.
        case message
    }

    public init(id: ID, purpose: Purpose, type: PictureType, bytes: Int) {
        self.id = id
        self.purpose = purpose
        self.type = type
        self.bytes = bytes
    }
}

/// The kinds of pictures that are taken.
public enum PictureType: String, Sendable, CaseIterable {
    case jpeg = "image/jpeg"
    case png = "image/png"
    case webp = "image/webp"
    case gif = "image/gif"
    case heic = "image/heic"

    /// How many of a file's first bytes tell its kind.
    public static let tellingBytes = 32

    /// What a file is by its first bytes; nil where it is none of these.
    public init?(firstBytes bytes: some Collection<UInt8>) {
        let bytes = Array(bytes.prefix(Self.tellingBytes))
        func has(_ text: String, at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if has("GIF87a") || has("GIF89a") {
            self = .gif
        } else if has("RIFF"), has("WEBP", at: 8) {
            self = .webp
        } else if has("ftyp", at: 4), Self.heicBrands.contains(where: { has($0, at: 8) }) {
            self = .heic
        } else {
            return nil
        }
    }

    private static let heicBrands = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
}

/// Where a client puts a picture's bytes.
public struct PictureUpload: Sendable {
    public let url: String
    public let headers: [(name: String, value: String)]
    public let expiresAt: Date

    public init(url: String, headers: [(name: String, value: String)], expiresAt: Date) {
        self.url = url
        self.headers = headers
        self.expiresAt = expiresAt
    }
}
