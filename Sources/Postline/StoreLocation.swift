public import Foundation

/// The location of the device's store.
public struct StoreLocation: Sendable {
    let folder: URL

    /// A folder of the app, created if it is missing. Each user has a separate file in it.
    public static func file(in folder: URL) -> StoreLocation { StoreLocation(folder: folder) }
}
