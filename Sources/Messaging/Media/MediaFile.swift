package import FoundationEssentials
package import Foundations

/// A file as declared by its owner.
package struct MediaFile: Sendable, Hashable {
    package let id: ID
    package let purpose: Purpose
    package let type: MediaType

    /// The size in bytes.
    package let bytes: Int

    /// The purpose of a file.
    package enum Purpose: String, Sendable, CaseIterable {
        /// An avatar, visible to anyone who has its address.
        case avatar
        /// A message's file, visible to members of its conversation.
        case message
    }

    package init(id: ID, purpose: Purpose, type: MediaType, bytes: Int) {
        self.id = id
        self.purpose = purpose
        self.type = type
        self.bytes = bytes
    }
}

/// The upload request for a file.
package struct UploadAddress: Sendable {
    package let url: String
    package let headers: [(name: String, value: String)]
    package let expiresAt: Date

    package init(url: String, headers: [(name: String, value: String)], expiresAt: Date) {
        self.url = url
        self.headers = headers
        self.expiresAt = expiresAt
    }
}

/// The upload request for a part of a file.
package struct UploadPart: Sendable {
    /// The position of its first byte in the file.
    package let start: Int
    package let bytes: Int
    package let url: String
    package let expiresAt: Date

    package init(start: Int, bytes: Int, url: String, expiresAt: Date) {
        self.start = start
        self.bytes = bytes
        self.url = url
        self.expiresAt = expiresAt
    }
}
