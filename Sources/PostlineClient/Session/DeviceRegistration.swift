import Foundation
import NIOConcurrencyHelpers

/// Where the user of this device is reached while no app of its is open: the params of `devices.register`.
struct RegisteredDevice: Codable, Sendable, Hashable {
    var platform: String
    var token: String
    var environment: String
    var locale: String?
}

/// What the app has registered, kept in the store's folder for each sign-in to come.
final class DeviceRegistration: Sendable {
    struct State: Codable, Sendable, Hashable {
        /// What is to be registered; nil for nothing.
        var device: RegisteredDevice?
        /// What the server calls it, once it knows it.
        var id: String?
        /// What the server called others of this device that it still has to forget.
        var formerIDs: [String] = []

        /// Another takes the place of what is registered.
        mutating func setDevice(to device: RegisteredDevice?) {
            guard device != self.device else { return }
            if let id { formerIDs.append(id) }
            (self.device, id) = (device, nil)
        }
    }

    private let folder: URL
    private let lock = NIOLock()

    init(folder: URL) { self.folder = folder }

    private var file: URL { folder.appendingPathComponent("push.json") }

    /// What cannot be read is nothing: the app says it again with its next launch.
    func read() throws -> State {
        guard FileManager.default.fileExists(atPath: file.path) else { return State() }
        return (try? JSONDecoder().decode(State.self, from: Data(contentsOf: file))) ?? State()
    }

    /// - Throws: ``PostlineError``, `store_unusable`.
    func update(_ change: (inout State) -> Void) throws {
        try lock.withLock {
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
}
