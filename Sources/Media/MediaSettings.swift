internal import Crypto
internal import FoundationEssentials

/// Where pictures are kept (`docs/media.md`).
public enum MediaSettings: Sendable {
    /// A folder of this node, or one that all nodes share, which the gateway serves.
    case folder(Folder)
    /// A store that speaks S3.
    case s3(S3)

    public struct Folder: Sendable {
        /// Where the files are.
        public var directory: String
        /// How clients reach the gateway, such as `https://chat.example.com`; nil: as `FolderStore.isServed(at:)` says.
        public var url: String?
        /// What addresses are signed with, the same on every node.
        public var secret: String
        /// How many bytes a picture may have.
        public var maxBytes: Int
        /// The number of bytes that stay free on the folder's disk: no picture is taken if there would be less.
        public var minFreeBytes: Int
        /// How many bytes of pictures may come in at once, counted as they were promised: a hundred pictures of the
        /// default size. A picture of the largest size that can be set has room.
        public var maxIncomingBytes = 1 << 30

        public init(directory: String, url: String?, secret: String, maxBytes: Int, minFreeBytes: Int = 0) {
            self.directory = directory
            self.url = url
            self.secret = secret
            self.maxBytes = maxBytes
            self.minFreeBytes = minFreeBytes
        }
    }

    public struct S3: Sendable {
        /// Where the store is, such as `https://s3.eu-central-1.amazonaws.com`.
        public var endpoint: String
        public var region: String
        /// Where pictures of messages are, and what is just being uploaded. Nobody reads it without a signature.
        public var bucket: String
        /// Where avatars are.
        public var publicBucket: String
        /// What everybody reads that bucket by.
        public var publicURL: String
        public var accessKeyID: String
        public var secretAccessKey: String
        /// How many bytes a picture may have.
        public var maxBytes: Int
        /// A file of certificates (PEM) to trust beside those of the system; nil: none.
        public var authorities: String?

        public init(
            endpoint: String, region: String, bucket: String, publicBucket: String, publicURL: String,
            accessKeyID: String, secretAccessKey: String, maxBytes: Int, authorities: String? = nil
        ) {
            self.endpoint = endpoint
            self.region = region
            self.bucket = bucket
            self.publicBucket = publicBucket
            self.publicURL = publicURL
            self.accessKeyID = accessKeyID
            self.secretAccessKey = secretAccessKey
            self.maxBytes = maxBytes
            self.authorities = authorities
        }
    }
}

/// How long addresses are good.
enum MediaTimes {
    /// Seconds for which an upload address is valid. `app.last_upload` counts a little longer.
    static let upload: Int64 = 3_600
    /// Seconds for which an address shows a message's picture, also to a user who has left the conversation since.
    static let reading: Int64 = 600
    /// Seconds by which the clocks of two nodes may differ.
    static let clockDifference: Int64 = 60
}
