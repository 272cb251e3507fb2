import Foundation

/// The signed-in user of this device. A file in the store's folder keeps it; it is not secret.
struct DeviceState: Codable, Equatable {
    /// The id of the user whose store is shown, or nil if no user is signed in.
    var userID: User.ID?
    /// The id of a guest whose store must still be moved to this user's, after an upgrade or a sign-in.
    var movingFrom: User.ID?
    /// The progress of migrating an older version's data, or nil if it has not begun.
    var legacyData: LegacyProgress?

    enum LegacyProgress: String, Codable {
        /// The raw value is stored in the device's file.
        case migrated = "takenOver"
        case erased
    }

    /// The id of a guest that the server does not know yet.
    static let localGuest: User.ID = "guest"

    static func read(in folder: URL) throws -> DeviceState {
        let file = url(folder)
        guard FileManager.default.fileExists(atPath: file.path) else { return DeviceState() }
        // With an unreadable file no user is signed in. The stores stay.
        return (try? JSONDecoder().decode(DeviceState.self, from: Data(contentsOf: file))) ?? DeviceState()
    }

    /// Sets the signed-in user, and keeps the other values.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    static func set(_ userID: User.ID?, movingFrom: User.ID? = nil, in folder: URL) throws {
        var device = try read(in: folder)
        (device.userID, device.movingFrom) = (userID, movingFrom)
        try device.write(in: folder)
    }

    /// Writes the state to the folder.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    func write(in folder: URL) throws {
        do {
            try FileManager.default.makePrivateFolder(folder)
            try JSONEncoder().encode(self).write(to: Self.url(folder), options: .atomic)
        } catch {
            throw PostlineError(.storeUnusable, "The folder \(folder.path) cannot be written: \(error)")
        }
    }

    static func url(_ folder: URL) -> URL { folder.appendingPathComponent("device.json") }
}
