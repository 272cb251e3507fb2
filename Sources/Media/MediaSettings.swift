import Crypto
import FoundationEssentials
package import Messaging

/// The configuration of files (`docs/media.md`).
package enum MediaSettings: Sendable {
    /// A folder of this node or shared by all nodes, served by the gateway.
    case folder(Folder)
    /// An S3-compatible store.
    case s3(S3)

    package struct Folder: Sendable {
        /// The folder.
        package var directory: String
        /// The URL by which clients reach the gateway, such as `https://chat.example.com`; nil to use
        /// `FolderStore.setURL(_:)`.
        package var url: String?
        /// The secret that signs addresses, the same on every node.
        package var secret: String
        /// The maximum sizes.
        package var limits: MediaLimits
        /// The bytes that must stay free on the folder's disk after an upload.
        package var minFreeBytes: Int
        /// The maximum bytes of concurrent uploads, by their declared sizes: a hundred pictures or ten other files of
        /// the default sizes. It is not less than the largest possible file.
        package var maxIncomingBytes = 1 << 30

        package init(directory: String, url: String?, secret: String, limits: MediaLimits, minFreeBytes: Int = 0) {
            self.directory = directory
            self.url = url
            self.secret = secret
            self.limits = limits
            self.minFreeBytes = minFreeBytes
        }
    }

    package struct S3: Sendable {
        /// The URL of the store, such as `https://s3.eu-central-1.amazonaws.com`.
        package var endpoint: String
        package var region: String
        /// The private bucket for files of messages and for uploads.
        package var bucket: String
        /// The bucket for avatars.
        package var publicBucket: String
        /// The public URL of that bucket.
        package var publicURL: String
        package var accessKeyID: String
        package var secretAccessKey: String
        /// The maximum sizes.
        package var limits: MediaLimits
        /// A file of additional trusted certificates (PEM), or nil.
        package var authorities: String?

        package init(
            endpoint: String, region: String, bucket: String, publicBucket: String, publicURL: String,
            accessKeyID: String, secretAccessKey: String, limits: MediaLimits, authorities: String? = nil
        ) {
            self.endpoint = endpoint
            self.region = region
            self.bucket = bucket
            self.publicBucket = publicBucket
            self.publicURL = publicURL
            self.accessKeyID = accessKeyID
            self.secretAccessKey = secretAccessKey
            self.limits = limits
            self.authorities = authorities
        }
    }
}

/// The validity of addresses.
enum MediaTimes {
    /// Seconds for which an upload address is valid. `app.last_upload` counts a little longer.
    static let upload: Int64 = 3_600
    /// Seconds for which an address shows a message's file, also to a user who has left the conversation since.
    static let reading: Int64 = 600
    /// The seconds by which clocks of two nodes may differ.
    static let clockDifference: Int64 = 60
}
