public import Foundation

/// A secret store in files that only the user can read (mode 0600), for systems without a keychain.
public struct FileSecretStore: SecretStore {
    private let folder: URL

    /// Creates a store with one file for each secret.
    ///
    /// - Parameter folder: The folder, created if it is missing and readable by the user only.
    public init(folder: URL) { self.folder = folder }

    /// Returns the secret with this name, or nil if there is none.
    public func read(named name: String) throws -> Data? {
        let file = url(name)
        return FileManager.default.fileExists(atPath: file.path) ? try Data(contentsOf: file) : nil
    }

    /// Stores a secret and replaces an existing one. After a crash either the old or the new one is there.
    ///
    /// - Throws: `CocoaError` if the file cannot be written.
    public func write(_ secret: Data, named name: String) throws {
        try FileManager.default.makePrivateFolder(folder)
        try FileManager.default.writeDurably(secret, to: url(name))
    }

    /// Erases a secret. Does nothing if there is none.
    public func erase(named name: String) throws {
        let file = url(name)
        if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
    }

    private func url(_ name: String) -> URL { folder.appendingPathComponent("\(name).secret") }
}
