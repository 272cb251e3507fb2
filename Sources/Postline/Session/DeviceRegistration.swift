import Foundation
import NIOConcurrencyHelpers

/// A device to register for pushes: the params of `devices.register`.
struct RegisteredDevice: Codable, Sendable, Hashable {
    var platform: String
    var token: String
    var environment: String
    var locale: String?
}

/// The registration that the app requested. A file in the store's folder keeps it for later sign-ins.
final class DeviceRegistration: Sendable {
    struct State: Codable, Sendable, Hashable {
        /// The device to register, or nil for none.
        var device: RegisteredDevice?
        /// The server's id of the registration, or nil if the server does not know it yet.
        var id: String?
        /// The ids of earlier registrations that the server must still remove.
        var formerIDs: [String] = []

        /// Replaces the device to register.
        mutating func setDevice(to device: RegisteredDevice?) {
            guard device != self.device else { return }
            if let id { formerIDs.append(id) }
            (self.device, id) = (device, nil)
        }
    }

    private let folder: URL
    private let locks: FolderLocks
    private let lock = NIOLock()

    init(folder: URL, locks: FolderLocks = FolderLocks()) {
        self.folder = folder
        self.locks = locks
    }

    private var file: URL { folder.appendingPathComponent("push.json") }

    /// Returns the stored registration. An unreadable file counts as empty, because the app registers again at its next
    /// launch.
    func read() throws -> State {
        guard FileManager.default.fileExists(atPath: file.path) else { return State() }
        return (try? JSONDecoder().decode(State.self, from: Data(contentsOf: file))) ?? State()
    }

    /// Changes the stored registration.
    ///
    /// - Throws: ``PostlineError``, `store_unusable`.
    func update(_ change: (inout State) -> Void) throws {
        try lock.withLock { try locks.lockingFolder { try updateLocked(change) } }
    }

    private func updateLocked(_ change: (inout State) -> Void) throws {
        let before = try read()
        var state = before
        change(&state)
        guard state != before else { return }
        do {
            try FileManager.default.makePrivateFolder(folder)
            if state == State() {
                try FileManager.default.removeItem(at: file)
            } else {
                try JSONEncoder().encode(state).write(to: file, options: .atomic)
            }
        } catch {
            throw PostlineError(.storeUnusable, "The folder \(folder.path) cannot be written: \(error)")
        }
    }
}
