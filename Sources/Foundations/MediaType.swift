/// The types of files that the server accepts (`docs/media.md`).
package enum MediaType: String, Sendable, CaseIterable {
    case jpeg = "image/jpeg"
    case png = "image/png"
    case webp = "image/webp"
    case gif = "image/gif"
    case heic = "image/heic"
    case mp4 = "video/mp4"
    case quickTime = "video/quicktime"
    case webm = "video/webm"
    case webmAudio = "audio/webm"
    case mp4Audio = "audio/mp4"
    case mp3 = "audio/mpeg"
    case ogg = "audio/ogg"
    case wav = "audio/wav"
    case pdf = "application/pdf"
    case text = "text/plain"
    case zip = "application/zip"
    /// Any other file.
    case binary = "application/octet-stream"

    /// True for a picture. Others have a greater maximum size, and are stored unchanged.
    package var isPicture: Bool { rawValue.hasPrefix("image/") }

    /// True if browsers may show the file in a page. Others are downloaded.
    package var isShownInline: Bool { isPicture || rawValue.hasPrefix("video/") || rawValue.hasPrefix("audio/") }

    /// The number of bytes that identify a type: enough for a `ftyp` box with 28 compatible brands.
    package static let signatureLength = 128

    /// Detects the type of a picture by the first bytes. Nil for other files.
    package init?(firstBytes bytes: some Collection<UInt8>) {
        let bytes = Array(bytes.prefix(Self.signatureLength))
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if bytes.has("GIF87a") || bytes.has("GIF89a") {
            self = .gif
        } else if bytes.has("RIFF"), bytes.has("WEBP", at: 8) {
            self = .webp
        } else if Self.isHEIC(bytes) {
            self = .heic
        } else {
            return nil
        }
    }

    /// Returns true if a file that begins with these bytes can be of this type. Texts and other files have no
    /// signature.
    package func matches(firstBytes bytes: some Collection<UInt8>) -> Bool {
        let bytes = Array(bytes.prefix(Self.signatureLength))
        switch self {
        case .jpeg, .png, .webp, .gif, .heic: return MediaType(firstBytes: bytes) == self
        case .mp4, .mp4Audio: return Self.isMP4(bytes)
        case .quickTime:
            // Older files begin with another box (QuickTime File Format Specification).
            return ["ftypqt  ", "moov", "mdat", "wide", "free", "skip", "pnot"].contains { bytes.has($0, at: 4) }
        case .webm, .webmAudio:
            // EBML's header, which names the document type (RFC 8794, section 11.2).
            return bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3])
                && bytes.indices.contains { bytes.has("webm", at: $0) }
        case .mp3: return bytes.has("ID3") || Self.isMPEGAudio(bytes)
        case .ogg: return bytes.has("OggS")
        case .wav: return (bytes.has("RIFF") || bytes.has("RF64")) && bytes.has("WAVE", at: 8)
        case .pdf: return bytes.has("%PDF-")
        // A member, an empty archive, and one in several parts.
        case .zip: return [[3, 4], [5, 6], [7, 8]].contains { bytes.starts(with: [0x50, 0x4B] + $0) }
        case .text, .binary: return true
        }
    }

    /// Returns true for the header of an MPEG audio frame: 11 bits of synchronization, then a layer.
    private static func isMPEGAudio(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 2 && bytes[0] == 0xFF && bytes[1] & 0xE0 == 0xE0 && bytes[1] & 0x06 != 0
    }

    /// Returns true for a `ftyp` box of neither QuickTime nor pictures.
    private static func isMP4(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= 12, bytes.has("ftyp", at: 4) else { return false }
        let major = String(decoding: bytes[8..<12], as: UTF8.self)
        return !heicBrands.union(containerBrands).union(avifBrands).union(["qt  "]).contains(major)
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

extension [UInt8] {
    fileprivate func has(_ text: String, at offset: Int = 0) -> Bool { dropFirst(offset).starts(with: text.utf8) }
}
