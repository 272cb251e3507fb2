import Foundation
import Foundations

extension FileManager {
    /// Creates a folder that only its user can read, unless it exists.
    func makePrivateFolder(_ folder: URL) throws {
        try createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Writes a file that only its user can read, and flushes it to the disk. After a crash either the old or the new
    /// one is there.
    ///
    /// - Throws: `CocoaError` if the file cannot be written.
    func writeDurably(_ data: Data, to url: URL) throws {
        try writeDurably(to: url) { try $0.write(contentsOf: data) }
    }

    /// Copies a file in parts, as ``writeDurably(_:to:)`` writes one.
    ///
    /// - Throws: `CocoaError` if a file cannot be read or written.
    func copyDurably(_ source: URL, to url: URL) throws {
        let source = try FileHandle(forReadingFrom: source)
        defer { try? source.close() }
        try writeDurably(to: url) { file in
            while let part = try source.read(upToCount: 1 << 20), !part.isEmpty { try file.write(contentsOf: part) }
        }
    }

    private func writeDurably(to url: URL, _ write: (FileHandle) throws -> Void) throws {
        let new = url.appendingPathExtension("new")
        try? removeItem(at: new)
        // The file has its mode from the start, and a rename replaces the old one atomically.
        let descriptor = unsafe open(new.path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteNoPermission) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try write(file)
            try file.synchronize()
            try file.close()
            guard unsafe rename(new.path, url.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        } catch {
            try? removeItem(at: new)
            throw error
        }
    }
}
