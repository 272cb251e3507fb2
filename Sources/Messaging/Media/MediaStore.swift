package import FoundationEssentials
package import Foundations

/// A store of files' bytes (`docs/media.md`). The database decides which files are valid and who may see them,
/// and clients access the store by signed addresses.
package protocol MediaStore: Sendable {
    /// The maximum sizes of files.
    var limits: MediaLimits { get }

    /// Returns the upload address of a file, valid for an hour.
    func upload(of media: MediaFile) -> UploadAddress

    /// Returns the size of the parts in which a file may be uploaded too, or nil if it is uploaded whole. The last part
    /// may be smaller.
    func partBytes(of media: MediaFile) -> Int?

    /// Returns the first parts of a file that were not uploaded yet, and begins the upload in parts if nothing was. Nil
    /// if the store does not take parts.
    ///
    /// - Throws: if the store is unavailable.
    func missingParts(of media: MediaFile) async throws -> [UploadPart]?

    /// Returns the permanent address of a file. Anyone can read an avatar by it, but no message's file.
    func address(of id: ID, _ purpose: MediaFile.Purpose) -> String

    /// Returns an address by which a message's file can be read for some minutes.
    ///
    /// - Parameter name: the name for downloads, or nil.
    func signedAddress(of id: ID, _ type: MediaType, name: String?) -> (url: String, expiresAt: Date)

    /// Checks that a file's bytes exist and are as declared. From then on they do not change. Other content is
    /// removed.
    ///
    /// - Throws: if the store is unavailable.
    func accept(_ media: MediaFile) async throws -> MediaCheckResult

    /// Removes a file if it exists.
    func remove(_ id: ID, _ purpose: MediaFile.Purpose) async throws

    /// Removes what a client uploaded after the file was accepted or removed, if the store permits that. Called once
    /// the address has expired, and for parts of a file that is not expected any more.
    func removeUpload(_ id: ID) async throws

    /// Returns true if there is room for this many more bytes.
    ///
    /// - Throws: if the store is unavailable.
    func hasRoom(for bytes: Int) async throws -> Bool

    /// Removes abandoned uploads. Called periodically.
    func tidy() async throws
}

extension MediaStore {
    package func partBytes(of media: MediaFile) -> Int? { nil }

    package func missingParts(of media: MediaFile) async throws -> [UploadPart]? { nil }
}

/// The maximum sizes of files, in bytes.
package struct MediaLimits: Sendable {
    package var pictures: Int
    package var others: Int
    /// The maximum of all files of a user together.
    package var user: Int

    package init(pictures: Int, others: Int, user: Int = 10 << 30) {
        self.pictures = pictures
        self.others = others
        self.user = user
    }

    package func maxBytes(of type: MediaType) -> Int { type.isPicture ? pictures : others }
}

/// The result of a store's check of a file.
package enum MediaCheckResult: Sendable, Equatable {
    /// The file is complete and as declared.
    case stored
    /// The file does not exist.
    case missing
    /// The content is wrong, with the reason.
    case mismatch(String)
}
