public import Foundation

/// A file to send: a picture, a video, an audio or any other file.
///
///     try await chat.send(attachments: [OutgoingAttachment(contentsOf: url)], text: "The contract")
public struct OutgoingAttachment: Sendable, Hashable {
    /// The file's bytes, or its place.
    let content: FileContent
    /// The name to show, 1 to 255 characters. Nil is that of the file. A picture is sent without a name.
    public var name: String?
    /// The MIME type. Nil is that of the name's extension and of the first bytes. A file that does not begin as its type
    /// does, or whose type the server does not know, is sent as `application/octet-stream`.
    public var mimeType: String?
    /// The width of a picture or a video in pixels, 1 to 65,535.
    public var width: Int?
    /// The height of a picture or a video in pixels, 1 to 65,535.
    public var height: Int?
    /// A placeholder to show until the picture is loaded (``BlurHash``), at most 128 characters.
    public var blurhash: String?
    /// The length of a video or an audio.
    public var duration: Duration?
    /// The loudness of a voice message over time: at most 128 values from 0 to 255.
    public var waveform: [UInt8]?
    /// A picture of a video's first frame or a document's first page: a JPEG, PNG, WebP, GIF or HEIC file.
    public var preview: Data?

    /// Creates an attachment of a file on this device, which is copied when it is sent.
    ///
    /// - Parameters:
    ///   - file: The file's URL.
    ///   - name: The name to show, or nil for that of the file.
    ///   - mimeType: The MIME type, or nil to detect it. `application/octet-stream` sends a picture as it is.
    public init(contentsOf file: URL, name: String? = nil, mimeType: String? = nil) {
        content = .file(file)
        self.name = name
        self.mimeType = mimeType
    }

    /// Creates an attachment of bytes in memory.
    ///
    /// - Parameters:
    ///   - data: The file's bytes.
    ///   - name: The name to show. Without one it is "file".
    ///   - mimeType: The MIME type, or nil to detect it. `application/octet-stream` sends a picture as it is.
    public init(_ data: Data, name: String? = nil, mimeType: String? = nil) {
        content = .data(data)
        self.name = name
        self.mimeType = mimeType
    }
}

/// The bytes of a file, or its place. Large files are read in parts.
enum FileContent: Sendable, Hashable {
    case data(Data)
    case file(URL)

    /// Returns the size in bytes.
    ///
    /// - Throws: `CocoaError` if the file is missing, or is no regular file.
    var count: Int {
        get throws {
            switch self {
            case .data(let data): return data.count
            case .file(let url):
                // Without the link's own size.
                let path = url.resolvingSymlinksInPath().path
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                guard attributes[.type] as? FileAttributeType == .typeRegular, let size = attributes[.size] as? Int
                else { throw CocoaError(.fileReadUnknown) }
                return size
            }
        }
    }

    /// Returns the first bytes.
    func prefix(_ count: Int) throws -> Data {
        switch self {
        case .data(let data): return Data(data.prefix(count))
        case .file(let url):
            let handle = try FileHandle(forReadingFrom: url)
            defer { try? handle.close() }
            return try handle.read(upToCount: count) ?? Data()
        }
    }

    /// Returns all bytes. Those of a file are mapped, not read into memory.
    func read() throws -> Data {
        switch self {
        case .data(let data): data
        case .file(let url): try Data(contentsOf: url, options: .mappedIfSafe)
        }
    }
}
