public import Foundation

extension Message {
    /// A file of a message: a picture, a video, an audio or another file.
    public struct Attachment: Sendable, Hashable, Codable {
        /// The https URL, at most 2,048 bytes. It is empty for an uploaded file until it is sent, and only names one:
        /// call ``PictureLoader/picture(of:maxPixels:progress:)`` or ``PostlineClient/download(_:to:progress:)``.
        public var url: String
        /// The id of an uploaded file, or nil for a file elsewhere.
        public var mediaID: String?
        /// The MIME type, such as `image/jpeg`, at most 255 bytes.
        public var mimeType: String?
        /// The width in pixels.
        public var width: Int?
        /// The height in pixels.
        public var height: Int?
        /// The size of the file, in bytes.
        public var bytes: Int?
        /// A placeholder to show until the picture is loaded (``BlurHash``).
        public var blurhash: String?
        /// The name to show, 1 to 255 characters. It is never a path: ``suggestedFilename`` names a file.
        public var name: String?
        /// The id of the picture in ``preview``, or nil.
        public var previewMediaID: String?
        /// The file on this device while the message waits in the outbox, nil otherwise.
        public internal(set) var fileURL: URL?
        /// The preview's file on this device while the message waits in the outbox.
        var previewFileURL: URL?
        var durationMilliseconds: Int?
        /// The values in base64.
        var encodedWaveform: String?

        /// Creates an attachment for a file that is available at a URL.
        public init(
            url: String, mimeType: String? = nil, width: Int? = nil, height: Int? = nil, bytes: Int? = nil,
            name: String? = nil
        ) {
            self.url = url
            self.mimeType = mimeType
            self.width = width
            self.height = height
            self.bytes = bytes
            self.name = name
        }

        /// The kind of a message with this attachment: a picture, a video, an audio or another file, by the type. Without
        /// a type it is a picture.
        public var kind: MessageKind {
            switch mimeType.map({ $0.prefix { $0 != "/" }.lowercased() }) {
            case nil, "image": .image
            case "video": .video
            case "audio": .audio
            default: .file
            }
        }

        /// The length of a video or an audio.
        public var duration: Duration? {
            get { durationMilliseconds.map { .milliseconds($0) } }
            set { durationMilliseconds = newValue.map(\.wholeMilliseconds) }
        }

        /// The loudness of a voice message over time: at most 128 values from 0 to 255.
        public var waveform: [UInt8]? {
            get { encodedWaveform.flatMap { Data(base64Encoded: $0) }.map { [UInt8]($0) } }
            set { encodedWaveform = newValue.map { Data($0).base64EncodedString() } }
        }

        /// The picture of a video's first frame or a document's first page, or nil if there is none.
        public var preview: Attachment? {
            guard previewMediaID != nil || previewFileURL != nil else { return nil }
            var preview = Attachment(url: "")
            preview.mediaID = previewMediaID
            preview.fileURL = previewFileURL
            return preview
        }

        /// A name for a file of this device: the ``name`` without the characters that a file system refuses, or one by
        /// the type.
        public var suggestedFilename: String {
            let text = (name ?? "").unicodeScalars.map { scalar -> Character in
                let isUnsafe = "/\\:".unicodeScalars.contains(scalar) || Self.isControl(scalar)
                return isUnsafe ? "_" : Character(scalar)
            }
            // A leading dot hides a file, and most file systems limit a name to 255 bytes.
            var name = String(text.drop { $0 == "." || $0.isWhitespace })
            while name.utf8.count > 255 { name.remove(at: name.index(name.startIndex, offsetBy: name.count / 2)) }
            guard name.isEmpty else { return name }
            return (kind == .image ? "picture" : kind.rawValue) + FileType.filenameExtension(of: mimeType)
        }

        /// Returns true for a character that the server refuses in a name: controls, line separators, text directions and
        /// noncharacters.
        static func isControl(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.value {
            case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0xFDD0...0xFDEF: true
            case let value: value & 0xFFFE == 0xFFFE
            }
        }

        enum CodingKeys: String, CodingKey {
            case url, width, height, bytes, blurhash, name
            case mediaID = "media_id"
            case mimeType = "mime_type"
            case previewMediaID = "preview_media_id"
            case durationMilliseconds = "duration_ms"
            case encodedWaveform = "waveform"
        }
    }
}

extension Duration {
    /// The duration in milliseconds, rounded down, at most 2^53.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        let most: Int64 = 1 << 53
        guard seconds < most / 1_000 else { return Int(most) }
        return Int(seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }
}
