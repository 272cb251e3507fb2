import Foundation

/// A file that the server expects, and the request to upload it (`media.create`).
struct MediaUpload: Codable, Sendable {
    var id: String
    var upload: Target

    struct Target: Codable, Sendable {
        var url: URL
        var headers: [String: String]
        /// The size of a part, or nil if the file is uploaded whole.
        var partBytes: Int?

        enum CodingKeys: String, CodingKey {
            case url, headers
            case partBytes = "part_bytes"
        }
    }
}

/// The next parts of a file to upload, or none if all are uploaded (`media.parts`).
struct MissingParts: Decodable, Sendable {
    var parts: [Part]

    struct Part: Decodable, Sendable {
        var start: Int
        var bytes: Int
        var url: URL
    }
}
