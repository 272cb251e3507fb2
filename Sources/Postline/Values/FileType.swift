import Foundation
import Foundations

/// The types of files that the server knows (`MediaType`), by name and by first bytes. A file of another type is sent as
/// `application/octet-stream`.
enum FileType {
    /// The type of a file that the server does not know.
    static let binary = MediaType.binary.rawValue

    /// Returns the type of a file to send.
    ///
    /// - Parameters:
    ///   - bytes: The first bytes, at least `MediaType.signatureLength` of them if there are so many.
    ///   - declared: The type that the app gave, if it did.
    ///   - name: The file's name, if it has one.
    static func detect(_ bytes: some Collection<UInt8>, declared: String?, name: String?) -> String {
        let bytes = Array(bytes.prefix(MediaType.signatureLength))
        let filenameExtension = name.flatMap { $0.split(separator: ".").dropFirst().last?.lowercased() }
        let given = declared.map { String($0.prefix { $0 != ";" }.lowercased().filter { $0 != " " }) }
        let byName = extensions.first { $0.key == filenameExtension }?.value
        let wanted = given.map { synonyms[$0] ?? $0 } ?? byName
        // A picture is named by its content: cameras and editors mix the extensions up.
        if given == nil || given?.hasPrefix("image/") == true, let picture = picture(bytes) { return picture }
        if let wanted { return MediaType(rawValue: wanted)?.matches(firstBytes: bytes) == true ? wanted : binary }
        // Without a name only what can be nothing else.
        guard filenameExtension == nil, given == nil else { return binary }
        let types: [MediaType] = [.mp4, .quickTime, .webm, .ogg, .wav, .pdf]
        return types.first { $0.matches(firstBytes: bytes) }?.rawValue ?? binary
    }

    /// Returns the type of a picture by its first bytes, or nil for another file.
    static func picture(_ bytes: some Collection<UInt8>) -> String? { MediaType(firstBytes: bytes)?.rawValue }

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
