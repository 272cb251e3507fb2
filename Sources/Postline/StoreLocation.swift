public import Foundation

/// The location of the device's store.
public struct StoreLocation: Sendable {
    let folder: URL

    /// True if the folder is deleted with the client.
    var isTemporary = false

    /// True if several processes use the folder at the same time.
    var isShared = false

    /// A folder of the app, created if it is missing. Each user has a separate file in it.
    ///
    /// One client uses it at a time, which is not checked: two would connect twice, and show the user who has signed in
    /// last at the next launch. Use ``shared(in:)`` for several clients.
    public static func file(in folder: URL) -> StoreLocation { StoreLocation(folder: folder) }

    /// A folder that an app and its extensions use at the same time, such as one in the container of their App Group
    /// (<doc:AppGroup>). All of them must use this location. It is created if it is missing.
    public static func shared(in folder: URL) -> StoreLocation { StoreLocation(folder: folder, isShared: true) }

    /// A new folder that is deleted with the client, tokens included, for previews and tests.
    public static var temporary: StoreLocation {
        let name = "postline-\(UUID().uuidString)"
        return StoreLocation(
            folder: FileManager.default.temporaryDirectory.appendingPathComponent(name), isTemporary: true)
    }
}
