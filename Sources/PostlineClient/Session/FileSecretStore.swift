public import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Secrets as files that the user alone can read (mode 0600), where there is no keychain.
public struct FileSecretStore: SecretStore {
    private let folder: URL

    /// Secrets in a folder, a file each.
    ///
    /// - Parameter folder: made where it is missing, readable by the user alone.
    public init(folder: URL) { self.folder = folder }

    /// What is kept under that name; nil where there is nothing.
    public func read(named name: String) throws -> Data? {
        let file = url(name)
        return FileManager.default.fileExists(atPath: file.path) ? try Data(contentsOf: file) : nil
    }

    /// Keeps it, in place of what was there: after a crash the old one is there, or the new one.
    ///
    /// - Throws: `CocoaError` where the file cannot be written.
    public func write(_ secret: Data, named name: String) throws {
        try FileManager.default.makePrivateFolder(folder)
        let new = url(name).appendingPathExtension("new")
        try? FileManager.default.removeItem(at: new)
        // Nobody else could read it even for a moment, and a crash leaves the old one or the new one.
        let descriptor = unsafe open(new.path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: secret)
        try file.synchronize()
        try file.close()
        guard unsafe rename(new.path, url(name).path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Forgets it; nothing happens where there is nothing.
    public func erase(named name: String) throws {
        let file = url(name)
        if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
    }

    private func url(_ name: String) -> URL { folder.appendingPathComponent("\(name).secret") }
}
