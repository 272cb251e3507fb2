import Foundation

extension FileManager {
    /// Creates a folder that only its user can read, unless it exists.
    func makePrivateFolder(_ folder: URL) throws {
        try createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
}
