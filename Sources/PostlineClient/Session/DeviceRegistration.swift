import Foundation

/// Where the user of this device is reached while no app of its is open: the params of `devices.register`.
struct RegisteredDevice: Codable, Sendable, Hashable {
    var platform: String
    var token: String
    var environment: String
    var locale: String?
}

/// What the app has registered, kept in the store's folder for each sign-in to come.
struct DeviceRegistration: Sendable {
    let folder: URL

    private var file: URL { folder.appendingPathComponent("push.json") }

    /// Nil where there is none.
    func read() throws -> RegisteredDevice? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try? JSONDecoder().decode(RegisteredDevice.self, from: Data(contentsOf: file))
    }

    /// - Throws: ``PostlineError``, `store_unusable`.
    func write(_ device: RegisteredDevice?) throws {
        do {
            try FileManager.default.makePrivateFolder(folder)
            if let device {
                try JSONEncoder().encode(device).write(to: file, options: .atomic)
            } else if FileManager.default.fileExists(atPath: file.path) {
                try FileManager.default.removeItem(at: file)
            }
        } catch {
            throw PostlineError(.storeUnusable, "The folder \(folder.path) cannot be written: \(error)")
        }
    }
}
