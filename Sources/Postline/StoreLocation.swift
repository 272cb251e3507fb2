public import Foundation

/// The location of the device's store.
public struct StoreLocation: Sendable {
    let folder: URL

    /// True if the folder is deleted with the client.
    let isTemporary: Bool

    /// A folder of the app, created if it is missing. Each user has a separate file in it.
    public static func file(in folder: URL) -> StoreLocation { StoreLocation(folder: folder, isTemporary: false) }

    /// A new folder that is deleted with the client, tokens included, for previews and tests.
    public static var temporary: StoreLocation {
        let name = "postline-\(UUID().uuidString)"
        return StoreLocation(
            folder: FileManager.default.temporaryDirectory.appendingPathComponent(name), isTemporary: true)
    }
}
