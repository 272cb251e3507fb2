import Foundation

/// A file that the server expects, and the request to upload it (`media.create`).
struct MediaUpload: Codable, Sendable {
    var id: String
    var upload: Target

    struct Target: Codable, Sendable {
        var url: URL
        var headers: [String: String]
    }
}
