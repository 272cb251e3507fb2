import Foundation

/// The types of files that the server knows (`docs/media.md`), by name and by first bytes. A file of another type is sent
/// as `application/octet-stream`.
enum FileType {
    /// The type of a file that the server does not know.
    static let binary = "application/octet-stream"

    /// The number of bytes that identify a type.
    static let signatureLength = 128

    /// Returns the type of a file to send.
    ///
    /// - Parameters:
    ///   - bytes: The first bytes, at least ``signatureLength`` of them if there are so many.
    ///   - declared: The type that the app gave, if it did.
    ///   - name: The file's name, if it has one.
    static func detect(_ bytes: some Collection<UInt8>, declared: String?, name: String?) -> String {
        let bytes = Array(bytes.prefix(signatureLength))
        let filenameExtension = name.flatMap { $0.split(separator: ".").dropFirst().last?.lowercased() }
        let given = declared.map { String($0.prefix { $0 != ";" }.lowercased().filter { $0 != " " }) }
        let byName = extensions.first { $0.key == filenameExtension }?.value
        let wanted = given.map { synonyms[$0] ?? $0 } ?? byName
        // A picture is named by its content: cameras and editors mix the extensions up.
        if given == nil || given?.hasPrefix("image/") == true, let picture = picture(bytes) { return picture }
        if let wanted { return matches(wanted, bytes) ? wanted : binary }
        // Without a name only what can be nothing else.
        guard filenameExtension == nil, given == nil else { return binary }
        return ["video/mp4", "video/quicktime", "video/webm", "audio/ogg", "audio/wav", "application/pdf"]
            .first { matches($0, bytes) } ?? binary
    }

    /// Returns the type of a picture by its first bytes, or nil for another file.
    static func picture(_ bytes: some Collection<UInt8>) -> String? {
        let bytes = Array(bytes.prefix(signatureLength))
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if bytes.has("GIF87a") || bytes.has("GIF89a") { return "image/gif" }
        if bytes.has("RIFF"), bytes.has("WEBP", at: 8) { return "image/webp" }
        guard bytes.has("ftyp", at: 4), bytes.count >= 12 else { return nil }
        // The box has the major brand, a version, and the compatible brands (ISO/IEC 14496-12, section 4.3).
        let size = min(bytes[..<4].reduce(0) { $0 << 8 | Int($1) }, bytes.count)
        let brands = [bytes.text(at: 8)] + stride(from: 16, to: max(size - 3, 16), by: 4).map { bytes.text(at: $0) }
        let isHEVC = brands.contains { ["heic", "heix", "heim", "heis", "hevc", "hevx"].contains($0) }
        let isPicture = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"].contains(brands[0])
        return isHEVC && isPicture ? "image/heic" : nil
    }

    /// Returns true if a file that begins with these bytes can be of a type that is no picture. The server refuses others.
    private static func matches(_ type: String, _ bytes: [UInt8]) -> Bool {
        switch type {
        case "video/mp4", "audio/mp4":
            bytes.has("ftyp", at: 4) && bytes.count >= 12
                && !["qt  ", "mif1", "msf1", "heic", "heix", "heim", "heis", "hevc", "hevx", "avif", "avis", "avio"]
                    .contains(bytes.text(at: 8))
        case "video/quicktime":
            ["ftypqt  ", "moov", "mdat", "wide", "free", "skip", "pnot"].contains { bytes.has($0, at: 4) }
        case "video/webm", "audio/webm":
            bytes.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) && bytes.indices.contains { bytes.has("webm", at: $0) }
        case "audio/mpeg":
            bytes.has("ID3")
                || bytes.count >= 2 && bytes[0] == 0xFF && bytes[1] & 0xE0 == 0xE0 && bytes[1] & 0x06 != 0
        case "audio/ogg": bytes.has("OggS")
        case "audio/wav": (bytes.has("RIFF") || bytes.has("RF64")) && bytes.has("WAVE", at: 8)
        case "application/pdf": bytes.has("%PDF-")
        case "application/zip": [[3, 4], [5, 6], [7, 8]].contains { bytes.starts(with: [0x50, 0x4B] + $0) }
        case "text/plain": true
        default: false
        }
    }

    /// Returns the usual extension of a type with its point, or an empty string if it is unknown.
    static func filenameExtension(of type: String?) -> String {
        guard let type else { return "" }
        return extensions.first { $0.value == type }.map { ".\($0.key)" } ?? ""
    }

    /// The types by the extension of a name, the usual one first.
    private static let extensions: KeyValuePairs = [
        "jpg": "image/jpeg", "png": "image/png", "webp": "image/webp", "gif": "image/gif", "heic": "image/heic",
        "mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "weba": "audio/webm",
        "m4a": "audio/mp4", "mp3": "audio/mpeg", "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/ogg",
        "wav": "audio/wav", "pdf": "application/pdf", "zip": "application/zip", "txt": "text/plain",
        "md": "text/plain", "csv": "text/plain", "log": "text/plain",
    ]

    /// Other names of these types.
    private static let synonyms = [
        "audio/x-m4a": "audio/mp4", "audio/m4a": "audio/mp4", "audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav",
        "audio/wave": "audio/wav", "video/x-m4v": "video/mp4", "application/x-zip-compressed": "application/zip",
    ]
}

extension [UInt8] {
    fileprivate func has(_ text: String, at offset: Int = 0) -> Bool { dropFirst(offset).starts(with: text.utf8) }

    fileprivate func text(at offset: Int) -> String { String(decoding: dropFirst(offset).prefix(4), as: UTF8.self) }
}
