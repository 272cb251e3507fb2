package import FoundationEssentials
package import Foundations

/// A picture as declared by its owner.
package struct Picture: Sendable, Hashable {
    package let id: ID
    package let purpose: Purpose
    package let type: PictureType

    /// The size in bytes.
    package let bytes: Int

    /// The purpose of a picture.
    package enum Purpose: String, Sendable, CaseIterable {
        /// An avatar, visible to anyone who has its address.
        case avatar
        /// A message's picture, visible to members of its conversation.
        case message
    }

    package init(id: ID, purpose: Purpose, type: PictureType, bytes: Int) {
        self.id = id
        self.purpose = purpose
        self.type = type
        self.bytes = bytes
    }
}

/// The accepted types of pictures.
package enum PictureType: String, Sendable, CaseIterable {
    case jpeg = "image/jpeg"
    case png = "image/png"
    case webp = "image/webp"
    case gif = "image/gif"
    case heic = "image/heic"

    /// The number of bytes that identify a type: enough for a `ftyp` box with 28 compatible brands.
    package static let signatureLength = 128

    /// Detects the type by the first bytes. Nil for other files.
    package init?(firstBytes bytes: some Collection<UInt8>) {
        let bytes = Array(bytes.prefix(Self.signatureLength))
        func has(_ text: String, at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if has("GIF87a") || has("GIF89a") {
            self = .gif
        } else if has("RIFF"), has("WEBP", at: 8) {
            self = .webp
        } else if Self.isHEIC(bytes) {
            self = .heic
        } else {
            return nil
        }
    }

    /// Brands of files with HEVC pictures.
    private static let heicBrands: Set<String> = ["heic", "heix", "heim", "heis", "hevc", "hevx"]

    /// Brands of a container for any codec: it contains HEVC if a compatible brand says so (ISO/IEC 23008-12).
    private static let containerBrands: Set<String> = ["mif1", "msf1"]

    /// Brands of files with AV1 pictures.
    private static let avifBrands: Set<String> = ["avif", "avis", "avio"]

    /// Parses the `ftyp` box at the beginning of a file: size, `ftyp`, major brand, version, compatible brands (ISO/IEC
    /// 14496-12, section 4.3).
    private static func isHEIC(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 16, bytes[4..<8].elementsEqual("ftyp".utf8) else { return false }
        let size = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
        guard (16...bytes.count).contains(size), size.isMultiple(of: 4) else { return false }
        func brand(at offset: Int) -> String { String(decoding: bytes[offset..<offset + 4], as: UTF8.self) }
        let major = brand(at: 8)
        let compatible = Set(stride(from: 16, to: size, by: 4).map(brand))
        guard compatible.union([major]).isDisjoint(with: avifBrands) else { return false }
        return heicBrands.contains(major)
            || containerBrands.contains(major) && !compatible.isDisjoint(with: heicBrands)
    }
}

/// The upload request for a picture.
package struct PictureUpload: Sendable {
    package let url: String
    package let headers: [(name: String, value: String)]
    package let expiresAt: Date

    package init(url: String, headers: [(name: String, value: String)], expiresAt: Date) {
        self.url = url
        self.headers = headers
        self.expiresAt = expiresAt
    }
}
