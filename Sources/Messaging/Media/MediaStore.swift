public import FoundationEssentials

/// Where pictures' bytes are (`docs/media.md`). What they may be and who may see them is the database's business; a store
/// is told by signed addresses.
public protocol MediaStore: Sendable {
    /// How many bytes a picture may have.
    var maxBytes: Int { get }

    /// Where the client is to put a picture, for an hour.
    func upload(of picture: Picture) -> PictureUpload

    /// The lasting address of a picture. That of an avatar is for everybody; that of a message's picture shows nothing.
    func address(of id: ID, _ purpose: Picture.Purpose) -> String

    /// An address that shows a message's picture for some minutes.
    func signedAddress(of id: ID) -> (url: String, expiresAt: Date)

    /// Looks whether a picture's bytes are there, and are what was promised. From then on they stay as they are. What is
    /// something else is removed.
    ///
    /// - Throws: where the store cannot say.
    func accept(_ picture: Picture) async throws -> MediaVerdict

    /// Removes a picture, where it is there.
    func remove(_ id: ID, _ purpose: Picture.Purpose) async throws

    /// Removes what was put to a picture's upload address after it was accepted or removed, where the store lets a client
    /// do that. It is called once the address has expired.
    func removeUpload(_ id: ID) async throws

    /// Returns whether there is room for so many bytes more.
    ///
    /// - Throws: where the store cannot say.
    func hasRoom(for bytes: Int) async throws -> Bool

    /// Removes what was begun and is not wanted any more. It is asked for now and then.
    func tidy() async throws
}

/// What a store has of a picture.
public enum MediaVerdict: Sendable, Equatable {
    /// All of it, and it is what was promised.
    case stored
    /// Nothing.
    case missing
    /// Something else: what is wrong with it.
    case wrong(String)
}
