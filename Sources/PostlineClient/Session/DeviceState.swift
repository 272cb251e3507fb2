import Foundation

/// Who is signed in on this device, kept in the store's folder. It is no secret.
struct DeviceState: Codable, Equatable {
    /// Whose store is shown; nil: nobody is signed in.
    var userID: String?
    /// Whose store is still to be brought into this user's: a guest who got an account or signed in to one.
    var movingFrom: String?
    /// How far what a former version of the app kept is taken over; nil: not at all.
    var legacyData: LegacyProgress?

    enum LegacyProgress: String, Codable {
        /// The raw value is part of the file.
        case migrated = "takenOver"
        case erased
    }

    /// The name of a guest whom the server does not know yet.
    static let localGuest = "guest"

    static func read(in folder: URL) throws -> DeviceState {
        let file = url(folder)
        guard FileManager.default.fileExists(atPath: file.path) else { return DeviceState() }
        // A torn file says nothing, and nobody is signed in then; the stores stay.
        return (try? JSONDecoder().decode(DeviceState.self, from: Data(contentsOf: file))) ?? DeviceState()
    }

    /// Says who is signed in, and keeps the rest.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    static func set(_ userID: String?, movingFrom: String? = nil, in folder: URL) throws {
        var device = try read(in: folder)
        (device.userID, device.movingFrom) = (userID, movingFrom)
        try device.write(in: folder)
    }

    /// - Throws: ``PostlineError``, `store_unusable`.
    func write(in folder: URL) throws {
        do {
            try FileManager.default.makePrivateFolder(folder)
            try JSONEncoder().encode(self).write(to: Self.url(folder), options: .atomic)
        } catch {
            throw PostlineError(.storeUnusable, "The folder \(folder.path) cannot be written: \(error)")
        }
    }

    private static func url(_ folder: URL) -> URL { folder.appendingPathComponent("device.json") }
}
