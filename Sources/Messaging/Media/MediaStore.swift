package import FoundationEssentials
package import Foundations

/// A store of pictures' bytes (`docs/media.md`). The database decides which pictures are valid and who may see them,
/// and clients access the store by signed addresses.
package protocol MediaStore: Sendable {
    /// The maximum size of a picture, in bytes.
    var maxBytes: Int { get }

    /// Returns the upload address of a picture, valid for an hour.
    func upload(of picture: Picture) -> PictureUpload

    /// Returns the permanent address of a picture. Anyone can read an avatar by it, but no message's picture.
    func address(of id: ID, _ purpose: Picture.Purpose) -> String

    /// Returns an address by which a message's picture can be read for some minutes.
    func signedAddress(of id: ID) -> (url: String, expiresAt: Date)

    /// Checks that a picture's bytes exist and are as declared. From then on they do not change. Other content is
    /// removed.
    ///
    /// - Throws: if the store is unavailable.
    func accept(_ picture: Picture) async throws -> MediaCheckResult

    /// Removes a picture if it exists.
    func remove(_ id: ID, _ purpose: Picture.Purpose) async throws

    /// Removes what a client uploaded after the picture was accepted or removed, if the store permits that. Called once
    /// the address has expired.
    func removeUpload(_ id: ID) async throws

    /// Returns true if there is room for this many more bytes.
    ///
    /// - Throws: if the store is unavailable.
    func hasRoom(for bytes: Int) async throws -> Bool

    /// Removes abandoned uploads. Called periodically.
    func tidy() async throws
}

/// The result of a store's check of a picture.
package enum MediaCheckResult: Sendable, Equatable {
    /// The picture is complete and as declared.
    case stored
    /// The picture does not exist.
    case missing
    /// The content is wrong, with the reason.
    case mismatch(String)
}
